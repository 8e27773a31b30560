"""The orders of steps: which step comes next, and when to stop."""
