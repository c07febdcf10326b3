"""Recognisers and voices as a service for many call servers: the Open Inference Protocol by gRPC over one process's engines."""
