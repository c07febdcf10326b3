"""What outlives a call: turn measurements, nothing else unless configured."""
