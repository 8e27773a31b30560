"""What a run searches and reads: search engines, web pages, a corpus, and the cache."""
