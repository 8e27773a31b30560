"""Whether an answer stands: its quotes re-read, its run replayed, two answers compared."""
