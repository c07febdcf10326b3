"""Telephone calls over SIP, through the gateway Janus."""
