"""Engines that say how likely a pause is the end of the caller's turn, behind one short interface."""
