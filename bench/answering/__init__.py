"""Greetings of people and of answering machines, as a telephone carries them."""
