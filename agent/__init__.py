"""A research agent whose every sentence stands on a quote that is really on its page."""

__version__ = "0.1.0"
