"""Inputs that once cost far more than their size: a module for each kind of decoder.

Reads: nothing. Writes: nothing.
Promises: the work for each of them grows no faster than its size; tests count it.
"""
