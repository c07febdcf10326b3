"""The features of a telephone call: recording, screening, transfer to a person, keys, results."""
