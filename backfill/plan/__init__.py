"""Reads the bounds of files, row groups and offsets; knows no Spark, Iceberg or Arrow.

Writes a plan: which rows go together, step by step, and what that costs.
Promises that no record of a step is further behind the frontier than the threshold.
"""
