"""Decides when a turn is over and who has the floor: pure policies over a language's words. This room imports no other room."""
