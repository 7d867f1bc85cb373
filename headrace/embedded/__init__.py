"""The embedded stack: a real broker and a real catalog, on this machine only.

Reads: the jars of the broker. Writes: one state folder.
Promises: what it started it stops, and what it could not stop the next start clears.
"""
