"""Reports that somebody else wrote, in whatever form: made Markdown, cut into cited sentences.

`parsing.py` makes Markdown of any form, in a worker; `services.py` of the JSON of services.
`sources.py` finds the lists of sources, `marks.py` what cites, `sentences.py` which sentence.
"""
