"""What a call on a telephone has besides: recording, screening, transfer to a person, keys, results."""
