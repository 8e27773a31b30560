"""Numbers, dates, scores and quantities in text, and arithmetic over them."""
