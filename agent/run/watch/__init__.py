"""A door: questions that stay, and are told when their answer changes."""
