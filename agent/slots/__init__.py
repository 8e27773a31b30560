"""Slots with types: a caller's schema as leaves, what sources say of each, and how it weighs."""
