"""Language models with one interface: they stream text and complete tool calls, and can be cancelled between tokens."""
