"""Reads files of `kind: stream`.

Writes a stream as one deployment runs it.
Promises that what it accepts can start.
"""
