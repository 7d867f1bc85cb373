"""The HTTP side of a command: whether it is alive and ready, its metrics, and how its jobs fare.

Reads: requests. Writes: answers, and nothing else; nothing of a request reaches the disk.
Promises: what fails in here ends no command, and nobody beyond this machine reads without a token.
"""
