"""Text as it is spoken: written forms read the way people read them, Markdown spoken well, pronunciations."""
