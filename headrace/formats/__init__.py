"""From columns to a record's bytes, where Spark writes them.

Reads: columns of a result. Writes: keys and values as Kafka takes them.
Promises: what is written is read back the same, and nothing that the schema does not say.
"""
