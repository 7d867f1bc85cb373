"""The commands. Reads: arguments. Writes: data on stdout, logs on stderr, an exit code.

Promises: importing a command loads no Spark, Arrow or Kafka, so that `--help` is quick.
"""
