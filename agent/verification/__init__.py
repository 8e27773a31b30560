"""Whether a claim is supported by its quotes: what rules prove, and what a model judges."""
