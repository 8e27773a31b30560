"""The strategy `loop`: decide what to do next, search, browse, and so on until there is an answer.

`strategy.py` has the order of the steps, and a file each has a step (`decide.py`,
`conclude.py`) or what the steps share: the trajectory that prompts show, the wording of the
prompts in English and Chinese, the tags of replies, quotes for answers that came without any.
"""
