"""What the user receives: the answer object, how a run becomes one, and its formats.

What people read is a tree (`tree.py`), made of an answer (`shown.py`) or of a check
(`shown_check.py`) and written as text, Markdown or HTML. A new format is a line of
`agent/shell/formats.py`, which every door offers, and its writer in `formats.py`.
"""

from agent.answer.build import *
from agent.answer.json_format import *
from agent.answer.schema import *
