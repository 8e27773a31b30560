"""The doctor: checks of settings, machine and services, each with a remedy."""
