"""Reads a plan of tables, step by step.

Writes the rows to files or to a topic.
Promises each row once in files, and in a topic at least once with its origin in the headers.
"""
