"""Load tests: callers in processes of their own, steps of more and more calls, and what binds."""
