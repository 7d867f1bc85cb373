"""What `headrace init` copies. Data, not code."""
