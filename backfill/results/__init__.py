"""What came of a run: held against the live result, listed, or ended for good.

Reads: two tables of results, the states of runs. Writes: reports; removes what a run has left.
Promises: every difference has its name, its key and an example.
"""
