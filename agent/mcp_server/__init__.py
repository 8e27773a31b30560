"""The MCP server: research as a tool of other programs' models (Model Context Protocol)."""
