"""Where what is read comes from: search, pages, and the cache before both."""
