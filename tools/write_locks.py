"""Resolve anew what headrace stands on: Python packages and jars, each with its hash."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from headrace.jars import ivy
from headrace.jars.cache import sha256
from headrace.jars.lock import JAR_SETS, Jar

ROOT = Path(__file__).resolve().parents[1]
UV = ROOT / ".venv" / "bin" / "uv"
LOCK_FLAGS = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-header"]
LOCK_FLAGS += ["--no-annotate", "--no-emit-index-url", "--quiet", "--upgrade"]
LOCK_FILES = {
    "requirements/uv.txt": ["requirements/uv.in"],
    "requirements/build.txt": ["requirements/build.in"],
    # Only `make fuzz` installs it: coverage-guided fuzzing has no wheel for some machines.
    "requirements/fuzz.txt": ["requirements/fuzz.in"],
    "requirements/lock.txt": ["pyproject.toml", "--group", "dev"],
}

HEADER = "# set  group:artifact:version  sha256 — written by `make lock`\n"
# What a user never needs is locked beside what needs it.
JAR_LOCKS = {
    "headrace/jars/jars.lock": JAR_SETS,
    "benchmarks/jars.lock": ("connect",),
    "benchmarks/flink.lock": ("flink",),
    "benchmarks/routers.lock": ("kafka-streams", "flink-sql"),
    "tests/hadoop.lock": ("hadoop",),
    "tests/search_nodes.lock": ("opensearch-2", "opensearch-3", "elasticsearch"),
}
SPARK = "4.1.3"
CONNECT = "4.1.1"
# 2.1.2 and 2.1.3 are not whole in every mirror.
FLINK = "2.1.1"
ICEBERG = "1.12.0"
# The one in Iceberg's bundle: where tables are on S3 too, both are on one classpath.
AWS_SDK = "2.54.17"
# The newest that runs on Java 17.
OPENSEARCH = "2.19.6"
# Their roots are all there is to them.
ALONE = frozenset({"hadoop"})
SEARCH_NODE = "{}.distribution.integ-test-zip"
# Group, artifact, version; "zip" where it is no jar.
ROOTS: dict[str, list[tuple[str, ...]]] = {
    "spark": [
        ("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", ICEBERG),
        ("org.apache.spark", "spark-sql-kafka-0-10_2.13", SPARK),
        # 4.1.3 of this one is not to be had from every mirror; 4.0.0 works with it.
        ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
        # 3.9.1, which Spark asks for, has CVE-2026-35554: a batch sent to the wrong topic.
        ("org.apache.kafka", "kafka-clients", "3.9.2"),
        # org.lz4:lz4-java 1.8.0 has CVE-2025-12183.
        ("at.yawk.lz4", "lz4-java", "1.10.1"),
        ("org.xerial", "sqlite-jdbc", "3.50.3.0"),
    ],
    "broker": [
        ("org.apache.kafka", "kafka_2.13", "4.1.1"),
        ("at.yawk.lz4", "lz4-java", "1.10.1"),
        ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"),
    ],
    "postgres": [("org.postgresql", "postgresql", "42.7.8")],
    "s3": [("org.apache.iceberg", "iceberg-aws-bundle", ICEBERG)],
    "s3a": [
        # As the Hadoop that pyspark brings.
        ("org.apache.hadoop", "hadoop-aws", "3.4.2"),
        *(
            ("software.amazon.awssdk", name, AWS_SDK)
            for name in ("s3", "s3-transfer-manager", "apache-client", "netty-nio-client", "sts")
        ),
    ],
    # The peers of the benchmarks that are connectors: MirrorMaker and Iceberg's own sink.
    "connect": [
        ("org.apache.kafka", "connect-runtime", CONNECT),
        ("org.apache.kafka", "connect-json", CONNECT),
        ("org.apache.kafka", "connect-transforms", CONNECT),
        ("org.apache.kafka", "connect-mirror", CONNECT),
        ("org.apache.iceberg", "iceberg-kafka-connect", ICEBERG),
        ("org.apache.iceberg", "iceberg-kafka-connect-transforms", ICEBERG),
        ("org.apache.iceberg", "iceberg-parquet", ICEBERG),
        ("org.apache.iceberg", "iceberg-core", ICEBERG),
        ("org.apache.hadoop", "hadoop-client-api", "3.4.1"),
        ("org.apache.hadoop", "hadoop-client-runtime", "3.4.1"),
        ("org.xerial", "sqlite-jdbc", "3.50.3.0"),
        ("at.yawk.lz4", "lz4-java", "1.10.1"),
        # As the slf4j-api that comes with Iceberg: another major version would bind to nothing.
        ("org.slf4j", "slf4j-simple", "2.0.18"),
    ],
    # The talks' own engine, with the source of Iceberg that orders by a watermark's column.
    "flink": [
        *(
            ("org.apache.flink", name, FLINK)
            for name in (
                "flink-streaming-java",
                "flink-clients",
                "flink-runtime",
                "flink-table-api-java-bridge",
                "flink-table-runtime",
                "flink-connector-base",
                "flink-connector-files",
            )
        ),
        ("org.apache.iceberg", "iceberg-flink-runtime-2.1", "1.11.0"),
        ("org.apache.hadoop", "hadoop-client-api", "3.4.1"),
        ("org.apache.hadoop", "hadoop-client-runtime", "3.4.1"),
        ("org.xerial", "sqlite-jdbc", "3.50.3.0"),
        ("org.slf4j", "slf4j-simple", "2.0.18"),
    ],
    # The peers of the router that run on a JVM.
    "kafka-streams": [
        ("org.apache.kafka", "kafka-streams", CONNECT),
        ("com.fasterxml.jackson.core", "jackson-databind", "2.22.2"),
        # As databind asks for it; Kafka Streams asks for an older one.
        ("com.fasterxml.jackson.core", "jackson-annotations", "2.22"),
        ("at.yawk.lz4", "lz4-java", "1.10.1"),
        ("org.slf4j", "slf4j-simple", "2.0.18"),
    ],
    "flink-sql": [
        *(
            ("org.apache.flink", name, FLINK)
            for name in (
                "flink-streaming-java",
                "flink-clients",
                "flink-runtime",
                "flink-table-api-java-bridge",
                "flink-table-planner-loader",
                "flink-table-runtime",
                "flink-connector-base",
                "flink-json",
            )
        ),
        # The connector has versions of its own; this one is for Flink 2.1.
        ("org.apache.flink", "flink-connector-kafka", "5.0.0-2.1"),
        ("at.yawk.lz4", "lz4-java", "1.10.1"),
        ("org.slf4j", "slf4j-simple", "2.0.18"),
    ],
    # HDFS and YARN, for tests: what they need beside the Hadoop that pyspark brings, and no more.
    "hadoop": [
        ("org.apache.hadoop", "hadoop-client-minicluster", "3.4.2"),
        ("junit", "junit", "4.13.2"),
        ("org.hamcrest", "hamcrest-core", "1.3"),
        *(
            ("org.bouncycastle", f"{name}-jdk18on", "1.78.1")
            for name in ("bcprov", "bcpkix", "bcutil")
        ),
        ("javax.xml.bind", "jaxb-api", "2.3.1"),
        ("javax.activation", "javax.activation-api", "1.2.0"),
    ],
    # Whole search nodes, for tests. The first comes without the module that ingest pipelines need.
    "opensearch-2": [
        (SEARCH_NODE.format("org.opensearch"), "opensearch", OPENSEARCH, "zip"),
        ("org.opensearch.plugin", "ingest-common", OPENSEARCH),
    ],
    "opensearch-3": [(SEARCH_NODE.format("org.opensearch"), "opensearch", "3.8.0", "zip")],
    "elasticsearch": [(SEARCH_NODE.format("org.elasticsearch"), "elasticsearch", "9.5.0", "zip")],
}
# What pyspark brings itself, or what a pinned jar above takes the place of.
EXCLUDED: dict[str, tuple[tuple[str, str], ...]] = {
    "spark": (
        ("org.apache.hadoop", "*"),
        ("org.scala-lang", "*"),
        ("org.scala-lang.modules", "*"),
        ("org.slf4j", "*"),
        ("org.xerial.snappy", "*"),
        ("com.google.code.findbugs", "*"),
        ("com.github.luben", "*"),
        ("org.lz4", "*"),
        ("org.apache.spark", "spark-tags_2.13"),
    ),
    "broker": (("org.lz4", "*"),),
    # What annotates its code, and nobody needs to run it.
    "postgres": (("org.checkerframework", "*"),),
    "s3": (),
    # Its own bundle has 600 MB of all of the services of Amazon.
    "s3a": (
        ("software.amazon.awssdk", "bundle"),
        ("software.amazon.s3.analyticsaccelerator", "*"),
        ("org.wildfly.openssl", "*"),
        ("io.netty", "*"),
        ("org.slf4j", "*"),
        ("commons-codec", "*"),
        ("commons-logging", "*"),
        ("org.apache.httpcomponents", "*"),
        ("software.amazon.awssdk", "apache5-client"),
    ),
    # Iceberg asks for ORC by a classifier, which a lock by coordinates cannot name; none is written.
    "connect": (("org.lz4", "*"), ("org.apache.orc", "*")),
    "flink": (),
    "kafka-streams": (("org.lz4", "*"),),
    "flink-sql": (("org.lz4", "*"),),
    "hadoop": (),
    "opensearch-2": (),
    "opensearch-3": (),
    "elasticsearch": (),
}


def main() -> None:
    """Write `requirements/*.txt` and the lists of jars."""
    for target, sources in LOCK_FILES.items():
        command = [str(UV), "pip", "compile", *sources, *LOCK_FLAGS, "-o", target]
        subprocess.run(command, cwd=ROOT, check=True)
    for target, jar_sets in JAR_LOCKS.items():
        jars = [jar for jar_set in jar_sets for jar in resolve(jar_set)]
        (ROOT / target).write_text(render(jars), encoding="utf-8")


def resolve(jar_set: str) -> list[Jar]:
    """Resolve one set with all that it needs, and hash what came."""
    rules = "".join(
        f'<exclude org="{group}" module="{module}"/>' for group, module in EXCLUDED[jar_set]
    )
    rules += "".join(
        f'<override org="{group}" module="{artifact}" rev="{version}"/>'
        for group, artifact, version, *_ in ROOTS[jar_set]
    )
    transitive = jar_set not in ALONE
    roots = (ivy.dependency(*root, transitive=transitive) for root in ROOTS[jar_set])
    with tempfile.TemporaryDirectory() as name:
        target = Path(name)
        ivy.retrieve(ivy.module(roots, rules), target, "[organisation]/[artifact]/[revision].[ext]")
        return [
            _jar(jar_set, path)
            for path in target.glob("*/*/*.*")
            if path.suffix in {".jar", ".zip"}
        ]


def render(jars: list[Jar]) -> str:
    """Write the text of a list of jars."""
    lines = [f"{jar.jar_set}  {jar.coordinate}  {jar.sha256}\n" for jar in sorted(jars)]
    return HEADER + "".join(lines)


def _jar(jar_set: str, path: Path) -> Jar:
    group, artifact, _ = path.parts[-3:]
    return Jar(jar_set, group, artifact, path.stem, sha256(path), path.suffix[1:])


if __name__ == "__main__":
    main()
