"""The tables of languages, a file each; `agent/evidence/language.py` reads them."""
