"""Decide, search, browse, answer."""
