"""Reads an application and the past of its tables.

Writes what the application makes of it, to its sink or to a staged result that it publishes.
Promises the sources aligned on one watermark, and no record dropped that was in time live.
"""
