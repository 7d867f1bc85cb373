"""One schema of a stream, carried to Arrow, Iceberg and Spark and back.

Reads: Avro schemas. Writes: the same schema in the other systems' terms.
Promises: what is carried comes back the same; what cannot be carried is refused by name.
"""
