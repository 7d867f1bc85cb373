"""Iceberg, as the stages use it: one catalog under two clients, tables by name.

Reads and writes: catalogs and table metadata, through pyiceberg.
Promises: Spark and Python see the same tables under the same names.
"""
