"""How many calls a machine carries: the shapes of language models, what accelerators can do, and the arithmetic that connects
them."""
