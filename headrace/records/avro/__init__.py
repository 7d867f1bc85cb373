"""Reads Avro of any writer's schema.

Writes rows of a stream's schema, and Avro again.
Promises Avro's schema resolution, in time and memory proportional to the bytes.
"""
