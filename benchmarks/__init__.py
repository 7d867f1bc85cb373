"""Benchmarks: each stage beside its peers and its limit, on one broker, in turns.

Reads: events it makes itself. Writes: JSON and tables under artifacts/benchmarks.
Promises: no time counts before its result was checked; all CPU of a competitor counts.
"""
