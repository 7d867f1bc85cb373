"""Reads a request, the progress of a replay and the records that it delivers.

Writes the run's plan, its state, its tags and its certificate.
Promises that a run ends right or goes on where it ended, and says what it did.
"""
