"""The demo: events made up, sent through every stage by its own command, and counted.

Reads: the workspace template. Writes: a workspace of its own, to look at afterwards.
Promises: each count is compared with the one before it; a gap fails the demo.
"""
