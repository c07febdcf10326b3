"""Telephone calls that a vendor or Asterisk brings as a stream of audio, and the vendors' webhooks."""
