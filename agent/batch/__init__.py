"""Many topics: what to research, what became of each, and the engines that do it."""
