"""Pure signal code: frames, resampling, Opus, jitter buffer, levels."""
