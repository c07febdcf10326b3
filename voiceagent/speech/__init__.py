"""Text as it is spoken: written forms read the way people read them, pronunciations, canned clips."""
