"""The steps of a run: each file holds its task (prompt and answer model) and its class."""
