"""A door: research as a tool of other programs' models (Model Context Protocol)."""
