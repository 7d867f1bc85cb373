"""A path on a file system that Hadoop knows (HDFS, S3A, …), as far as a checkpoint asks for one.

It has the methods of `pathlib.Path` that are used of checkpoints, and Spark's JVM does the work.
"""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# Asks S3A to create under a condition; others do so anyway, and pass over what they do not know.
CONDITIONAL: Final = "fs.option.create.conditional.overwrite"


class HadoopPath:
    """A file or a folder by its URL."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        self._spark = spark
        self._url = url.rstrip("/")
        jvm: Any = spark._jvm  # noqa: SLF001 - Spark has no other way to Hadoop
        self._jvm = jvm
        self._path = jvm.org.apache.hadoop.fs.Path(self._url)
        self._files = self._path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001 - as above

    def __str__(self) -> str:
        return self._url

    def __truediv__(self, name: str) -> HadoopPath:
        return HadoopPath(self._spark, f"{self._url}/{name}")

    @property
    def name(self) -> str:
        """Its last part."""
        return self._url.rpartition("/")[2]

    @property
    def parent(self) -> HadoopPath:
        """The folder that it is in."""
        return HadoopPath(self._spark, self._url.rpartition("/")[0])

    def with_name(self, name: str) -> HadoopPath:
        """Return another one beside it."""
        return self.parent / name

    def exists(self) -> bool:
        """Whether it is there."""
        return bool(self._files.exists(self._path))

    def glob(self, pattern: str) -> Iterator[HadoopPath]:
        """Yield what is in a folder, by its names; nothing where there is no folder."""
        if not self.exists():
            return
        for found in self._files.listStatus(self._path):
            name = str(found.getPath().getName())
            if fnmatch(name, pattern):
                yield self / name

    def read_bytes(self) -> bytes:
        """Return what a file holds."""
        stream = self._files.open(self._path)
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def read_text(self, encoding: str = "utf-8") -> str:
        """Return what a file holds, as text."""
        return self.read_bytes().decode(encoding)

    def write(self, content: bytes) -> None:
        """Write a small file anew."""
        stream = self._files.create(self._path, True)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    def create(self, content: bytes) -> bool:
        """Write a file unless there is one; whether it is ours. Of several hosts, one does it."""
        try:
            builder = self._files.createFile(self._path).recursive().overwrite(False)
            stream = builder.opt(CONDITIONAL, True).build()
            stream.write(bytearray(content))
            # A store of objects decides at its end.
            stream.close()
        except Exception:
            if self.exists():
                return False
            raise
        return True

    def unlink(self, missing_ok: bool = True) -> None:  # noqa: ARG002 - as pathlib has it
        """Remove a file; one that is gone is no mistake."""
        self._files.delete(self._path, False)

    def modified_ms(self) -> int:
        """Return when it was written, by the clock of its file system."""
        return int(self._files.getFileStatus(self._path).getModificationTime())
