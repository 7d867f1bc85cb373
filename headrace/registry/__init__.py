"""The schema registry: which schema an id stands for, and an id for a schema.

Reads: a registry's answers, and while it is silent those on disk. Writes: schemas.
Promises: a process asks for an id once; a silent registry is not an unknown id.
"""
