"""The backend without a model: a finder, which quotes sentences and fields of the evidence."""
