"""A research agent whose every sentence stands on a quote that is really on its page."""

__version__ = "0.1.0"
#: How it names itself to the sites that it reads; a user sets USER_AGENT to add a contact.
USER_AGENT = f"llm-research-agent/{__version__} (command-line research tool)"
