"""Following tables: what they hold, then each commit, in order of bounded lateness.

Reads: tables, and up to when each is complete. Writes: tags that hold the snapshots it needs.
Promises: each row once, whatever is compacted or expired meanwhile; the checkpoint is all its state.
"""
