"""Context: what documents say about what the caller asks, found while the caller still speaks."""
