"""The audit of an answer: quotes re-read, the run replayed, two answers compared."""
