"""Bytes to text with places, links and notes: one reader a format, in a worker."""
