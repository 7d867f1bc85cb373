"""The router: Kafka in; hygiene, filter and projection; Kafka out.

Reads: one topic a stream. Writes: one topic an output, and the quarantine.
Promises: at least once, and every record read is written, filtered or quarantined.
"""
