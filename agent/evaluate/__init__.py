"""Evaluations: a set of questions, the arms that answer it side by side, and what came of it."""
