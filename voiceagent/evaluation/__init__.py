"""Quality of the models: checks on held-out sets, the synthetic speakers and sounds that these are made with, and figures."""
