"""The ground that every stage stands on.

Reads and writes: config files, Kafka, Iceberg and Spark, for the stages. Knows no stage.
Promises: one data contract, so that a live record and a stored one cannot be told apart.
"""
