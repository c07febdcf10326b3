"""Quality of the models: checks on held-out sets, the synthetic speakers and sounds that they are made with, figures."""
