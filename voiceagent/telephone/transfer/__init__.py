"""Transfers of a call to a person: blind, or warm, where a colleague is briefed first."""
