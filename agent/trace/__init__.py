"""A door: what a run did, as a tree for a terminal or as one page for a browser."""
