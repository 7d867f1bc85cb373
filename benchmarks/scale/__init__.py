"""How a replay's plan would run on more readers than this machine has.

Reads: a plan's steps, and what reading costs here. Writes: a table and a picture of speed-ups.
Promises: the steps are the planner's own; only the readers are imagined.
"""
