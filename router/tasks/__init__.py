"""The work of Spark's tasks: fetch, decode, check, filter, project, send, wait for acknowledgements.

Reads: ranges of the source topic. Writes: topics, search indices and the quarantine.
Promises: counts that say where every record went.
"""
