"""Backfill: reads the lake again, in the order of time.

Reads: pinned snapshots of Iceberg tables. Writes: JSON Lines, with a certificate.
Promises: each row of the period once, and the disorder measured, not assumed.
"""
