"""Taking an application back to an earlier batch of its own, its state included.

Reads: Spark's checkpoint, the sink's commit states, what topics still hold. Writes: checkpoint and sink.
Promises: refused before anything changes, or done whole; what is cut is kept beside it.
"""
