"""The Python client: a headless caller over real WebRTC, scripted dialogues, bad networks, and recording of a call."""
