"""The model registry: list, pull, verify and check the models of each profile."""
