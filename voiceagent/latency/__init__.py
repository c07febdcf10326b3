"""Spans, budgets, the live check and the reports."""
