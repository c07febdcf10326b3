"""Language models behind one interface: streamed text and complete tool calls, cancellable between tokens."""
