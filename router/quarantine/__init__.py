"""The bad records of a stream: listed, and replayed once its configuration is mended.

Reads: the quarantine topic. Writes: the stream's outputs, and a file per output of what was replayed.
Promises: what was sent is noted after it is acknowledged; a crash sends again, and loses nothing.
"""
