"""Nodes of Spark's plans and expressions as Python sees them, and what Scala's collections hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

# An object of the JVM, of whose type Python knows nothing.
Java: TypeAlias = Any


def analyzed(frame: DataFrame) -> Java:
    """Return the plan of a DataFrame as Spark has understood it, before it is made faster."""
    return frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - the plan has no public name in Python


def kind_of(node: Java) -> str:
    """Return the name of a node's class."""
    return str(node.getClass().getSimpleName())


def each(found: Java) -> Iterator[Java]:
    """Yield what a collection of Scala holds."""
    left = found.iterator()
    while left.hasNext():
        yield left.next()


def walk(node: Java) -> Iterator[Java]:
    """Yield a node and all below it, of a plan or of an expression."""
    yield node
    for child in each(node.children()):
        yield from walk(child)


def expressions(plan: Java) -> Iterator[Java]:
    """Yield the expressions of one node of a logical plan, with all that they are made of."""
    for one in each(plan.expressions()):
        yield from walk(one)


def with_subqueries(plan: Java) -> Iterator[Java]:
    """Yield the nodes of a plan, and those of the queries inside of its expressions."""
    for node in walk(plan):
        yield node
        for one in each(node.subqueries()):
            yield from with_subqueries(one)
