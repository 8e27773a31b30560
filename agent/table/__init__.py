"""A table of many things, each cell with its quote: `research-agent table`."""
