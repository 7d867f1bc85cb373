"""A text with a secret written out in it is found, whatever YAML's way to write it."""

from __future__ import annotations

import pytest

from headrace.config.edit.plain_secrets import line_of_secret


@pytest.mark.parametrize(
    "text",
    [
        "name: a\npassword: hunter2",
        "a: b\nssl.key.password: 'hunter2'",
        'a: b\nproperties: {"sasl.password": hunter2}',
        "a: b\napi_key: VnVhQ2ZHY0JDZGJr",
        "a: b\nsink: {type: search, url: 'https://user:hunter2@node:9200', index: a}",
        "a: b\nsasl.jaas.config: >-",
        "a: b\nbasic.auth.user.info: user:hunter2",
        "a: b\npassword: *named",
        "a: b\npassword: ${PASSWORD:hunter2}",
        "a: b\nurl: https://user:${PASSWORD:hunter2}@node",
        "a: b\n# password: hunter2",
        "a: b\nmask: {mail: {sha256: {salt: pepper}}}",
    ],
)
def test_a_secret_that_is_written_out_is_found(text: str) -> None:
    assert line_of_secret(text) == 2


@pytest.mark.parametrize(
    "text",
    [
        "kind: stream\nname: plays\nhygiene: {required: [id], mask: {user.mail: hash}}",
        "password: ${PASSWORD}\ntoken: '${file:token.txt}'",
        'properties: {sasl.password: "${PASSWORD}", acks: all}',
        "sink: {type: search, url: 'http://127.0.0.1:9200', index: plays}",
        "url: https://${USER}:${PASSWORD}@node:9200",
        "sink: {type: kafka, topic: plays, key: user_id}",
        "mask: {card.token: redact, password: {keep_first: 3}, mail: {sha256: {salt: ${SALT}}}}",
    ],
)
def test_a_text_with_references_has_none(text: str) -> None:
    assert line_of_secret(text) is None
