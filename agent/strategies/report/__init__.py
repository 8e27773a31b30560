"""The strategy `report`: plan, gather with tools, find gaps, gather for those, draft.

`strategy.py` has the order of the steps, and a file each has a step (`plan.py`, `gather.py`,
`gaps.py`, `draft.py`). `tool_use.py` runs the tool calls of `gather.py`: `tool_calls.py` says which
of them may be run, `tool_results.py` renders what the model is told of them.
"""
