"""The door that checks any report against the pages that it cites."""
