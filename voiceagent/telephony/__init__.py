"""What is a telephone's alone: the dialects of those who carry calls, their webhooks and signatures, keypads."""
