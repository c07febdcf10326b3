"""Attacks on a real server. Each stands for a promise of docs/security.md."""
