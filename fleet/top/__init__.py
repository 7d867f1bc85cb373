"""`headrace top`: the overview of a workspace in a terminal.

Reads: what a `headrace up` serves over HTTP, or what `headrace status` finds. Writes: a terminal.
Promises: what is wrong stands first, and a frame fits the terminal's height.
"""
