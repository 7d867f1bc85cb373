"""Reads what a person typed: tables or an application, a period, limits.

Writes reports, plans and progress to the terminal; starts, lists and ends runs.
Promises that wrong words end in a sentence, before anything has been done.
"""
