"""The small corpus behind `make demo`."""
