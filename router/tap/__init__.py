"""`headrace tap`: records of a stream as they pass, with what becomes of them.

Reads: the source topic, without a consumer group. Writes: nothing, or a file of records for tests.
Promises: what a stream masks stays masked, in what is shown and in what is written.
"""
