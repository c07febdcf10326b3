"""The HTTP server: connections, keys, routes, the page."""
