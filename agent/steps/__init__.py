"""The five steps of the default strategy: each file has its task and its class."""
