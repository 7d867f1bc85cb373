"""All that a workspace declares: what it is, how it fares, and running it.

Reads: the workspace's files, ledgers, consumer groups, tables, run state. Writes: what the stages write.
Promises: what is away or broken is named, and neither holds up nor hides the others.
"""
