"""Evaluations: question sets, the arms that answer them side by side, and the metrics of each."""
