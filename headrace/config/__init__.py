"""The files that users write, as values.

Reads: headrace.yaml and the YAML files of streams, lake tables and applications. Writes: nothing.
Promises: every mistake of every file at once, each with its line, column and remedy; no secret shown.
"""
