"""The Open Inference Protocol by gRPC: its messages, its tensors, and a client's connection to a model server."""
