"""The turn engine: a pure function of its events. Nothing here does I/O, reads a clock or imports our other rooms."""
