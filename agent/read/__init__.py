"""What the program reads of a file or a page: `research-agent read FILE`."""
