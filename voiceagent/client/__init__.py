"""The Python client: a headless caller over real WebRTC, scripted dialogues through it, bad networks, a call's recording."""
