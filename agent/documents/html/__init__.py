"""Pages in HTML: their visible main text, tables and boxes, dates, and walls in their place."""
