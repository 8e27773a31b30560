"""Many topics, each researched once: side by side, here or in a cluster, and gone on with."""
