"""Reads JSON.

Writes rows of a schema, and JSON again.
Promises a value of the schema's type or a reason why not, in time proportional to the text.
"""
