"""The HTTP server: signalling of calls, the page, health and metrics; admission, keys and shutdown."""
