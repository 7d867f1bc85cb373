"""Reads values that several kinds of file share.

Writes frozen, typed settings.
Promises that nothing unknown is accepted and that no secret is shown.
"""
