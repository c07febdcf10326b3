"""What a language model writes, held against what was said: for models that invent rather than copy. Which those are, and what
they were made for, is data of the models."""
