"""The formats of documents: each is one way to take text out of bytes, in a worker."""
