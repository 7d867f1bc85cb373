"""Reads calls of Spark's functions.

Writes fragments of Python.
Promises Spark's result for every value, or a refusal to compile.
"""
