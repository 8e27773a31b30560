"""Whether a claim stands on its quotes: what rules prove, and the bench on which a model judges."""
