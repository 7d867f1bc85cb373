"""Between a record's bytes and its columns.

Reads: values as Kafka has them. Writes: columns of the stream's schema, and bytes again.
Promises: a value that is not what the schema says is named, never guessed at.
"""
