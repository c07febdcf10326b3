"""Legs, which carry a call's audio and events, and the playout, which paces audio out and keeps the heard ledger."""
