"""The same server on several machines: its workers are actors of Ray, which decides where each runs and starts a dead one
again."""
