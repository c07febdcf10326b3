"""The telephone measured from outside: calls over SIP (SIPp, Janus, kamailio) and over a vendor's stream, on recorded audio."""
