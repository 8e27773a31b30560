"""Reports that somebody else wrote, in whatever form: read by a worker, cut into cited sentences.

`parsing.py` and the parsers beside it take blocks of text with their links out of bytes; the worker
runs them. `citations.py` finds the sentences and the sources that each cites; every form passes
there, so a report says the same in each. A new form is a parser, and its line in `PARSERS`.
"""
