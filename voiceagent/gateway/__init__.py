"""The process in front of a server's workers: it takes HTTP, places new calls, and passes on what belongs to a call."""
