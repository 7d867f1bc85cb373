from __future__ import annotations

import pytest
from ruamel.yaml import YAML

from headrace.config.yaml.characters import source_index


@pytest.mark.parametrize(
    "written",
    [
        "abc = MARK",
        "abc   =   MARK and more",
        "'it''s ''MARK'''",
        '"a \\"q\\" \\u0041\\x41 MARK"',
        '"a \\\n   b MARK"',
        "'a\n    b\n\n    MARK'",
        "a\n    b MARK",
        "|\n    a\n      b\n    MARK\n",
        "|-  # words\n\n    a\n    MARK",
        ">\n    a\n    b MARK\n\n    c",
        ">-\n    a\n      indented\n    MARK",
        "&anchor 'a MARK'",
        "!!str 'a MARK'",
        "&x |\n    a MARK",
    ],
)
def test_a_character_of_a_value_is_found_where_it_was_written(written: str) -> None:
    source = f"first: 1\nkey: {written}\n"
    root = YAML(typ="safe", pure=True).compose(source)
    node = root.value[1][1]
    offset = node.value.index("MARK")
    index = source_index(source, node.start_mark.index, node.value, offset)
    assert source[index : index + 4] == "MARK"


def test_where_both_texts_differ_the_scalar_itself_is_meant() -> None:
    assert source_index("key: abc", 5, "xyz", 2) == 5
