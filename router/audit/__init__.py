"""`router audit`: what the ledgers of a stream say, held against its topic.

Reads: ledger topics, and the source topic where offsets held no record.
Writes: nothing.
Promises: every offset that is missing, twice or lost is named.
"""
