"""Reads files of `kind: lake_table`.

Writes a lake table's settings.
Promises that what it accepts can start.
"""
