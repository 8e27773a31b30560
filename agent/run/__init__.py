"""A run, from a topic to an answer. Its loop is in `loop.py`, its beginning in `begin.py`."""
