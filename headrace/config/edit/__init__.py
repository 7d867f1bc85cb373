"""A change of workspace files that comes from a page or a program, and not from an editor.

Reads: the workspace, and the proposed texts. Writes: the proposed files, all of them or none.
Promises: nothing outside the workspace, nothing with a mistake, nothing over what nobody has seen.
"""
