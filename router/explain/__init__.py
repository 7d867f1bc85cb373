"""What a stream makes of given records, with nothing sent.

Reads: records of a file, or out of a quarantine. Writes: nothing.
Promises: the same compiled functions as a task's.
"""
