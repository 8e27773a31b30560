"""A door: the settings file of a user."""
