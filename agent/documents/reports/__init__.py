"""Reports of others in any form, as Markdown cut into sentences with what each cites.

`parsing.py` and `service_answers.py` make the Markdown, in a worker. `source_lists.py` finds the
lists of sources, `marks.py` the marks, `cited_sentences.py` the sentence of each.
"""
