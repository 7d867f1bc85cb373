"""The pages of the control room, rendered here, and the events that keep them up to date.

Reads: what a command shows of itself (`Facts`). Writes: answers, and nothing else.
Promises: what a record or a file holds stays text; every page reads without JavaScript.
"""
