"""A door: question after question at the terminal, each following the last."""
