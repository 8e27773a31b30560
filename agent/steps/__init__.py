"""The five steps of the default strategy: each file holds a step's class and its tasks.

A task is a prompt and the model of its answer. `ask_model.py` and `prompt_rules.py` hold what steps
and tasks share. Steps that only one other strategy takes are in that strategy's folder.
"""
