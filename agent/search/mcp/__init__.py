"""Sources that speak the Model Context Protocol: servers that the user names."""
