"""Reading pages of the web: safe download, and extraction of their text."""
