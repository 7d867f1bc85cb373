"""Spark SQL expressions of config files, read before any JVM starts.

Reads: filters and projections. Writes: nothing.
Promises: what passes is one scalar expression over known columns that gives the same in a replay.
"""
