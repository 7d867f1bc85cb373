"""The command line of `router`: what each command takes, and what it calls.

Reads options; writes reports on stdout. Loads Kafka and Spark only when a command needs them.
"""
