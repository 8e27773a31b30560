"""Reading pages: fetching them safely, and taking their text out."""
