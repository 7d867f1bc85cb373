"""The lake writer: Kafka in, Iceberg out.

Reads: one topic a table. Writes: the table, with `__metadata__` beside the columns.
Promises: every file has bounds on the ingestion time, so that a replay finds its period.
"""
