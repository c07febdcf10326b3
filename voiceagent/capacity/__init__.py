"""How many calls a machine carries: the shapes of language models, what accelerators can do, the arithmetic between them."""
