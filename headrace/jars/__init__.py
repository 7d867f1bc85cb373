"""The jars of Spark's connectors and of the embedded broker.

Reads: `jars.lock` and, once per user, a Maven repository. Writes: the user's cache.
Promises: a jar is used only if its hash is the one that is committed.
"""
