"""The embedded language model: onnxruntime-genai in this process."""
