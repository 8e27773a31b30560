"""A door: research over HTTP."""
