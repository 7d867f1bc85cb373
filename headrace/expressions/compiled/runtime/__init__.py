"""Reads values of a row.

Writes values of Spark's types.
Promises what Spark computes, and an error of its own where Spark throws.
"""
