"""Reports that somebody else wrote, in whatever form: made Markdown, cut into cited sentences.

`parsing.py` makes Markdown of any form, in a worker; `service_answers.py` of the JSON of services.
`source_lists.py` finds the lists of sources, `marks.py` what cites,
`cited_sentences.py` which sentence.
"""
