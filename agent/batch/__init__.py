"""Batches of topics: the input, the output file, and the engines that research them."""
