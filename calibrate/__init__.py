"""Verdicts and human labels in, a report out."""
