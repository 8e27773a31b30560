"""The version of the program, and how its requests name it."""

__version__ = "0.2.0"
#: The default User-Agent of its requests. The setting USER_AGENT replaces it, to add a contact.
USER_AGENT = f"llm-research-agent/{__version__} (command-line research tool)"
