"""What is set, what answers, and what to fix."""
