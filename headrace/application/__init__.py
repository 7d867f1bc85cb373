"""An application as its author wrote it: sources by name, a transform, a sink.

Reads: streaming DataFrames, live or replayed. Writes: what the sink takes.
Promises: the transform is given the same columns under the same names, wherever they come from.
"""
