"""Spark's processes: the Java they need, the driver's JVM, its Python workers.

Reads: what Java and Spark say. Writes: the archive of the JVM's classes, the workers' launcher.
Promises: whatever cannot be kept or found costs time, or is an error that says what to install.
"""
