"""Language models on servers: OpenAI-compatible ones, and vLLM in this process."""
