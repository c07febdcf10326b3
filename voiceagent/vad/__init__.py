"""Voice activity: a webrtcvad gate, and Silero to confirm."""
