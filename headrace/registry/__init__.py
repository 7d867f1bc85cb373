"""The schema registry: which schema an id stands for, and an id for a schema.

Reads: a registry's answers, and those that were kept on disk. Writes: schemas under subjects.
Promises: what was once answered is known without asking; a silent registry is not an unknown id.
"""
