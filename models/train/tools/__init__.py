"""Made-up agents with tools and facts, and conversations with them: what the adapter of the small language model learns from. The
words are in the YAML files, one module turns each into what is said."""
