"""What the user receives: the answer object, how a run becomes one, and its formats.

What people read is a document (`doc.py`), made of an answer (`answer_view.py`) or a check
(`check_view.py`) and rendered as text, Markdown or HTML. A new format is a line of
`agent/answer/file_formats.py`, which every interface offers, and its writer in `formats.py`.
"""
