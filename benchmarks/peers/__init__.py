"""What headrace is measured against: scripts as people write them, and the limits.

Reads: a file of settings. Writes: what the stage beside it writes, and a line of JSON.
Promises: nothing of headrace runs in here.
"""
