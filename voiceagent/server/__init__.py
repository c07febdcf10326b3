"""The HTTP server: routes, the page, health, admission."""
