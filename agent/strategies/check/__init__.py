"""The strategy `check`: read what somebody's report cites, then judge each sentence by it.

`strategy.py` has the order of the steps, and a file each has a step (`read_cited.py`, `judge.py`).
"""
