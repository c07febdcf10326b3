"""Simulated calls: the turn engine with generated callers and engines, in virtual time."""
