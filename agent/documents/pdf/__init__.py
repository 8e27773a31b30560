"""PDF: pages, lines and paragraphs in reading order, with character recognition for scans."""
