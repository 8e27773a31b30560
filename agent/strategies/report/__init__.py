"""The strategy `report`: plan sections, research them side by side, write and summarize them.

`strategy.py` has the order of the steps: `plan_report.py`, `sections.py`, `write.py`. In a quick
report and for sections without questions `gather.py` lets a model search and read with tools.
`tool_use.py` runs its calls: `tool_calls.py` says which of them may be run, `tool_results.py`
renders the replies to the model.
"""
