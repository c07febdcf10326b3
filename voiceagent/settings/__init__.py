"""The settings of `agent.yaml`: typed, and with one clear line for every mistake."""
