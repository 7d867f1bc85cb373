"""The lake writer: Kafka in, Iceberg out.

Reads: one topic a table, from where the table says. Writes: the table, and how far it has come.
Promises: each offset lands once, and every file has bounds on ingestion time and offset.
"""
