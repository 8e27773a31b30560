"""Search providers, and the chain that asks one after the other."""
