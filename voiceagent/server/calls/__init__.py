"""The calls of a server: admission, quotas, readiness, draining."""
