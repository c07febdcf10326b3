"""What is kept after a call: turn measurements, and nothing else unless configured."""
