"""Reads `headrace.yaml`.

Writes the clusters, catalogs and registries that all files name.
Promises that a name that is used is there.
"""
