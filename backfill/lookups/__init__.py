"""Lookups: tables that the records of an application are joined with, as they were at a time.

Reads: a table's history and its rows. Writes: which snapshot a live batch has taken.
Promises: all of a batch sees one state of a lookup, the same whenever the batch is done again.
"""
