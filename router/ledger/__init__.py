"""What became of every record, per output and batch; and the audit of it against the topic.

Reads and writes: a ledger file per output. The audit writes nothing.
Promises: a line is whole or not there, and its sums add up.
"""
