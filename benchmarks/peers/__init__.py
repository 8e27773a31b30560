"""This program beside others, against the same services: see README.md. Optional."""
