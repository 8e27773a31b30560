"""The trace of a run: its events and outside calls as a tree of text or as an HTML page."""
