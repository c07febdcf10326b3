"""Calls that never were: the turn engine against generated callers and engines, in virtual time."""
