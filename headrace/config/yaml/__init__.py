"""Reads a YAML file.

Writes plain values with the line and column of each.
Promises every mistake at once, each in a sentence with its position.
"""
