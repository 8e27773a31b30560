"""Listening on a port: who may ask, what is logged, how it ends."""
