"""What became of every record, and how far each output is: kept in Kafka, beside the records.

Reads and writes: a compacted topic a stream and cluster, `headrace.STREAM.ledger`.
Promises: a place is committed together with its records; whoever lost a claim writes no place.
"""
