"""The engine without a model: it answers tasks by quoting sentences of the evidence."""
