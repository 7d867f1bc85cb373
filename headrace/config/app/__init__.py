"""Reads files of `kind: app`.

Writes an application's sources, transform and sink.
Promises that what it accepts can start.
"""
