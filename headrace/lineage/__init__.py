"""What runs read and write, told to a receiver of OpenLineage's events.

Reads: files of a workspace, metrics, and the tables' own metadata. Writes: events, over the network.
Promises: a receiver that is away neither stops nor slows a job, and no event has a secret.
"""
