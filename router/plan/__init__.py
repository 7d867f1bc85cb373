"""From a stream's file to what its tasks work on.

Reads: the stream as one deployment runs it, registries, topics' settings. Writes: missing topics.
Promises: a task has nothing left to look up.
"""
