"""Our tools over MCP: for engines that reach them so."""
