"""A recording of a call, measured."""
