"""Reads snapshots, manifests, footers and data files.

Writes the units that a plan is made of, and Arrow batches of the rows and columns of a unit.
Promises each row of the unit once, and none that the table has deleted.
"""
