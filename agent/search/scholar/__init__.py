"""Bibliographic services: each as a provider, all as one, and the open texts of what they find."""
