"""The HTTP side of a command: whether it is alive and ready, its metrics, and how its jobs fare.

Reads: requests. Writes: answers; what a request may change, `Acts` does, which others implement.
Promises: what fails in here ends no command, and nobody beyond this machine reads without a token.
"""
