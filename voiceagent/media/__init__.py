"""Legs: what carries a call's audio and events, and the playout that paces audio out and keeps the heard ledger."""
