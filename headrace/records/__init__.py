"""Records in plain Python: bytes to checked values and back, without Spark.

Reads: a record's value, key and headers. Writes: the same, encoded.
Promises: a value is what its schema says, or the record is bad and says why.
"""
