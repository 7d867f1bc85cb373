"""The queries of a stream: which outputs share one, where each goes on, when it is started again.

Reads: ledgers, the ends of the source topic. Writes: a line of a ledger per output and batch.
Promises: an offset is done with only after every record up to it was acknowledged.
"""
