"""An operator's view of a server: metrics, health, the log."""
