"""How the client of a registry gets in: TLS, tokens, several URLs, contexts."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest
import structlog

from headrace.config.common.registries import Registry as RegistryConfig
from headrace.errors import Terminal
from headrace.registry.answers import UnknownSchema
from headrace.registry.client import Registry, shared
from headrace.registry.http import RegistrySilent
from tests.certificates import KEY_PASSWORD, Certificates, make_certificates
from tests.registry_server import RegistryServer
from tests.token_server import TokenServer
from tests.unit.registry.test_client import EVENT, ID, reference, schema

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.registry.address import RegistryAddress

OTHER = schema(ID, name="tv.Other")
SECRET = "hush/+ &"  # noqa: S105 - a test's own

GUESS = "guess"


def at(url: str, **properties: object) -> RegistryAddress:
    """Return an address as a file says it; a dot of a name is an underscore here."""
    named = {name.replace("_", "."): str(value) for name, value in properties.items()}
    config = RegistryConfig.model_validate({"url": url, "subject": "s", "properties": named})
    return config.address(None)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls") / "house")


def test_a_registry_that_wants_the_clients_certificate(house: Certificates) -> None:
    own = {"ssl_ca_location": house.authority, "ssl_certificate_location": house.certificate}
    with RegistryServer(tls=house.server_context()) as server:
        held = server.put("s", EVENT)
        for key in (
            {"ssl_key_location": house.key},
            {"ssl_key_location": house.locked_key, "ssl_key_password": KEY_PASSWORD},
        ):
            assert Registry(at(server.url, **own, **key)).schema_by_id(held.id) == EVENT
        for few in ({"ssl_ca_location": house.authority}, {}):
            with pytest.raises(RegistrySilent, match="TLS"):
                Registry(at(server.url, **few)).schema_by_id(held.id)


@pytest.mark.parametrize(
    "wrong",
    [
        {"ssl_ca_location": "none.pem"},
        {"ssl_ca_location": __file__},
        {"ssl_certificate_location": "none.pem"},
        {"ssl_key_location": "none.pem"},
        {"ssl_key_location": "LOCKED"},
        {"ssl_key_location": "LOCKED", "ssl_key_password": "guess"},
    ],
)
def test_certificates_that_cannot_be_used_are_named_by_their_setting(
    house: Certificates, wrong: dict[str, str]
) -> None:
    given = {"ssl_certificate_location": house.certificate, "ssl_key_location": house.key}
    locked = {name: str(house.locked_key) for name, value in wrong.items() if value == "LOCKED"}
    with pytest.raises(Terminal, match=r"the registry's ssl\.[a-z.]+.* cannot be used") as raised:
        Registry(at("https://127.0.0.1:9", **{**given, **wrong, **locked}))
    assert "guess" not in str(raised.value)
    assert str(house.folder) not in str(raised.value)


def test_a_token_that_is_given() -> None:
    with RegistryServer(tokens=["right"]) as server:
        held = server.put("s", EVENT)

        def with_token(token: str) -> Registry:
            source = {"bearer_auth_credentials_source": "STATIC_TOKEN"}
            return Registry(at(server.url, **source, bearer_auth_token=token))

        assert with_token("right").schema_by_id(held.id) == EVENT
        with pytest.raises(Terminal, match="or the token") as raised:
            with_token("guess").schema_by_id(held.id)
        assert "guess" not in str(raised.value)


def test_a_user_beside_the_url() -> None:
    with RegistryServer(user="u", password="p:@") as server:  # noqa: S106 - a test's own
        held = server.put("s", EVENT)
        bare = server.url.replace("u:p%3A%40@", "")
        assert Registry(at(bare, basic_auth_user_info="u:p:@")).schema_by_id(held.id) == EVENT


def oauth(server: RegistryServer, issuer: TokenServer, **more: object) -> RegistryAddress:
    given = {
        "bearer_auth_credentials_source": "OAUTHBEARER",
        "bearer_auth_issuer_endpoint_url": issuer.url,
        "bearer_auth_client_id": issuer.client_id,
        "bearer_auth_client_secret": issuer.client_secret,
    }
    return at(server.url, **{**given, **more})


def test_tokens_of_an_issuer_are_fetched_once_and_again_when_refused() -> None:
    with TokenServer("me", SECRET) as issuer, RegistryServer(tokens=issuer.given) as server:
        ids = [server.put("s", schema(ID, name=f"tv.E{number}")).id for number in range(3)]
        cloud = {"bearer_auth_logical_cluster": "lsrc-1", "bearer_auth_identity_pool_id": "pool-1"}
        client = Registry(oauth(server, issuer, bearer_auth_scope="registry", **cloud))
        for one in ids:
            client.schema_by_id(one)
        assert (issuer.given, issuer.scopes) == (["token-0"], ["registry"])
        asked = {name.lower(): value for name, value in server.headers[-1].items()}
        assert asked["target-sr-cluster"] == "lsrc-1"
        assert asked["confluent-identity-pool-id"] == "pool-1"
        # Called back before its end.
        issuer.given.clear()
        issuer.given.append("called back")
        more = server.put("s", EVENT).id
        assert client.schema_by_id(more) == EVENT
        assert issuer.given == ["called back", "token-1"]


def test_a_token_is_not_used_beyond_its_life() -> None:
    with TokenServer("me", SECRET, life_s=0) as issuer, RegistryServer(tokens=issuer.given) as one:
        ids = [one.put("s", schema(ID, name=f"tv.E{number}")).id for number in range(3)]
        client = Registry(oauth(one, issuer))
        for schema_id in ids:
            client.schema_by_id(schema_id)
        assert len(issuer.given) == 3


def test_an_issuer_that_refuses_and_one_that_is_away(registry_server: RegistryServer) -> None:
    with TokenServer("me", SECRET) as issuer:
        wrong = oauth(registry_server, issuer, bearer_auth_client_secret=GUESS)
        with pytest.raises(Terminal, match=r"rejects the client \(HTTP 401, inv") as raised:
            Registry(wrong).schema_by_id(1)
        assert GUESS not in str(raised.value)
        issuer.statuses += [503] * 4
        with pytest.raises(RegistrySilent, match="its token issuer: HTTP 503"):
            Registry(oauth(registry_server, issuer)).schema_by_id(1)
    assert registry_server.asked == []
    with pytest.raises(Terminal, match=r"issuer\.endpoint\.url is not a valid URL"):
        Registry(oauth(registry_server, issuer=issuer, bearer_auth_issuer_endpoint_url="ftp://x"))


def test_the_next_url_is_asked_where_one_does_not_answer() -> None:
    with RegistryServer() as one, RegistryServer(user="u", password="a,b") as two:  # noqa: S106 - a test's own
        ids = [one.put("s", schema(ID, name=f"tv.E{number}")).id for number in range(3)]
        assert ids == [two.put("s", schema(ID, name=f"tv.E{number}")).id for number in range(3)]
        both = f"{one.url}, {two.url.replace('%2C', ',')}"
        client = Registry(at(both))
        client.schema_by_id(ids[0])
        one.stop()
        client.schema_by_id(ids[1])
        one.start()
        two.fail_next(1, 503)
        client.schema_by_id(ids[2])
        # Who answered last is asked first, and nobody waits before the next one is asked.
        assert [len(one.asked), len(two.asked)] == [2, 2]
        two.stop()
        one.stop()
        with pytest.raises(RegistrySilent):
            client.schema_by_id(99)


def test_an_answer_that_is_a_no_is_not_asked_for_elsewhere() -> None:
    with RegistryServer() as one, RegistryServer() as two:
        with pytest.raises(UnknownSchema):
            Registry(at(f"{one.url},{two.url}")).schema_by_id(7)
        assert (len(one.asked), len(two.asked)) == (1, 0)


def test_a_context_has_ids_of_its_own(registry_server: RegistryServer, tmp_path: Path) -> None:
    """The same id means one schema here and another there, on the disk too."""
    place = schema(ID, name="Place")
    registry_server.put(":.eu:place", place)
    inside = registry_server.put(":.eu:s", EVENT, references=[reference("Place", "place")])
    registry_server.put("a", OTHER)
    outside = registry_server.put("b", schema(ID, name="tv.Third"))
    assert inside.id == outside.id

    def client(subject: str) -> Registry:
        config = RegistryConfig.model_validate({"url": registry_server.url, "subject": subject})
        return Registry(config.address(tmp_path, subject))

    for _ in range(2):
        assert "tv.Event" in client(":.eu:s").schema_by_id(inside.id)
        assert "tv.Third" in client("b").schema_by_id(outside.id)
        registry_server.stop()
    registry_server.start()
    assert "tv.Event" in client(":.eu:s").latest(":.eu:s")
    assert client(":.us:s").register(":.us:s", OTHER) == registry_server.first_id


def test_nothing_secret_is_shown_and_a_task_has_all_of_it() -> None:
    with TokenServer("me", SECRET) as issuer, RegistryServer(tokens=issuer.given) as server:
        held = server.put("s", EVENT)
        address = oauth(server, issuer)
        sent = pickle.loads(pickle.dumps(address))  # noqa: S301 - our own
        assert sent == address
        with structlog.testing.capture_logs() as logs:
            assert Registry(sent).schema_by_id(held.id) == EVENT
        shown = repr((address, sent, logs))
        assert not [word for word in (SECRET, "token-0", issuer.url, server.url) if word in shown]
        assert shared(sent) is shared(address)
