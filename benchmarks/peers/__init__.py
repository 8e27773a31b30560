"""Comparison of this program with others, against the same services: see README.md. Optional."""
