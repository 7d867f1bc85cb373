"""Kafka, as the stages use it: the only package that imports librdkafka.

Reads: topics, their offsets, ranges of records. Writes: records, and offsets of consumer groups.
Promises: what was sent was acknowledged, and what was asked for was read to its end.
"""
