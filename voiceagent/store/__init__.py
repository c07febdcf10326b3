"""Keeps data after a call: turn measurements, and nothing else unless configured."""
