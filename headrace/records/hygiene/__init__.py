"""Reads decoded rows and the rules of a stream.

Writes the rule that a row breaks, or the row with its masks.
Promises that a rule never raises and that a masked value leaves in no form.
"""
