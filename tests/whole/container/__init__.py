"""The image, tested with a real Docker engine: `make container`."""
