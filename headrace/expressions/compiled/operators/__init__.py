"""Reads nodes of an expression: operators, casts, conditions, containers.

Writes fragments of Python.
Promises Spark's meaning in its ANSI mode, or a refusal to compile.
"""
