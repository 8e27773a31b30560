"""Recorded runs and the answers that they gave."""
