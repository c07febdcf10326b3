"""Planning of the calls that a machine carries: the shapes of language models, the figures of accelerators, and the arithmetic
that connects them."""
