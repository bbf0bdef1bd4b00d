"""Secrets are hidden in every way of showing a value."""

import json
import pickle
import time
from html import escape
from urllib.parse import quote, quote_plus

import msgspec
from hypothesis import given, settings, strategies as st
from rich.pretty import pretty_repr

from chatrest import Message, parse, webhooks
from chatrest._core.paging.cursor import Cursor
from chatrest._core.replies.decode import ManyRecords
from chatrest._core.replies.one_record import OneRecord
from chatrest._core.replies.record_kinds import MESSAGE
from chatrest._core.requests.wire import Request
from chatrest._models.agents import ApiTool
from chatrest._models.apps import AppInfo
from chatrest._models.messages import UnknownMessage
from chatrest._models.meta import Meta
from chatrest._models.users import AuthToken, User, WsChannel
from chatrest._secrets import (
    _CREDENTIALS,
    HIDDEN,
    for_repr,
    hide_in_repr,
    is_credential,
    longest_spelling,
    repr_of,
    scrub,
    scrub_all,
)
from chatrest._walk.walk import Page
from chatrest.app import App
from tests.support.cases import loop_over

SECRET = "s3cr3t-Value"
NESTED = {
    "a": [{"wsChannel": {"secret": SECRET, "service": "ws"}}],
    "apiKey": SECRET,
    "deep": [[[{"api-key": SECRET}]]],
}
MESSAGE_OF = {
    "id": "7", "conversationId": "c", "sender": "a", "receiverType": "user", "receiver": "b",
    "category": "custom", "type": "x", "data": {}, "sentAt": 1, "updatedAt": 1,
}  # fmt: skip


def message(**changes: object) -> object:
    return OneRecord(MESSAGE)(msgspec.json.encode({"data": {**MESSAGE_OF, **changes}}))


def unknown(record: object) -> UnknownMessage:
    [message] = ManyRecords(MESSAGE)(msgspec.json.encode({"data": [record]})).items
    assert isinstance(message, UnknownMessage)
    return message


CALL = {
    "sessionid": "s",
    "type": "audio",
    "status": "ongoing",
    "sender": "a",
    "receiver": "b",
    "receiverType": "user",
    "wsChannel": {"secret": SECRET, "identity": "i", "service": "ws"},
}
HOLDERS = {
    "WsChannel": lambda: WsChannel(identity="i", secret=SECRET),
    "call message": lambda: message(
        category="call",
        data={
            "action": "ongoing",
            "entities": {
                "by": {"entity": {"uid": "a"}, "entityType": "user"},
                "on": {"entity": CALL, "entityType": "call"},
                "for": {"entity": {"uid": "b"}, "entityType": "user"},
            },
        },
    ),
    "custom data": lambda: message(data={"customData": NESTED, "metadata": NESTED}),
    "custom data, a list": lambda: message(data={"customData": [NESTED, [NESTED]]}),
    "action on a message": lambda: message(
        category="action",
        data={"action": "edited", "entities": {"on": {"entity": NESTED, "entityType": "message"}}},
    ),
    "text metadata": lambda: message(category="message", type="text", data={"text": "t", "metadata": NESTED}),
    "quoted message": lambda: message(quotedMessage=NESTED),
    "unknown category": lambda: unknown({**MESSAGE_OF, "category": "poll", "data": NESTED}),
    "unknown category, an object": lambda: unknown({**MESSAGE_OF, "category": {"secret": SECRET}}),
    "unknown record, a list": lambda: unknown([NESTED]),
    "listing": lambda: ManyRecords(MESSAGE)(
        msgspec.json.encode({"data": [{**MESSAGE_OF, "data": {"metadata": NESTED}}]})
    ),
    "page": lambda: Page([], Meta(), SECRET.encode(), Cursor("q")),
    "AuthToken": lambda: AuthToken(uid="bob", auth_token=SECRET, app_info=NESTED),
    "settings of a login": lambda: AuthToken(
        uid="bob", auth_token=SECRET, jwt=SECRET, fat=SECRET, settings={"any": SECRET}
    ),
    "User": lambda: User("bob", auth_token=SECRET, metadata=NESTED),
    "AppInfo": lambda: AppInfo("app", api_keys={SECRET: {"apiKey": SECRET}}, access_key={"key": SECRET}),
    "App": lambda: App("app", SECRET, service_domain="chat.example.com"),
    "headers of a tool": lambda: ApiTool(slug="s", headers=SECRET),
    "Request": lambda: Request("GET", "https://h/v3/users", {"apikey": SECRET}, SECRET.encode()),
}


@loop_over("show", [repr, str, "{}".format, "{!r}".format, "%s".__mod__, pretty_repr])
@loop_over("holder", HOLDERS)
def test_no_representation_of_a_record_shows_credentials(holder: str, show: object) -> None:
    value = HOLDERS[holder]()
    assert SECRET not in show((value,))  # type: ignore[operator]
    assert SECRET not in show([{"k": value}])  # type: ignore[operator]


def test_hidden_credentials_are_readable_attributes() -> None:
    assert WsChannel(secret=SECRET).secret == SECRET
    assert AuthToken(uid="bob", auth_token=SECRET).auth_token == SECRET
    assert unknown({**MESSAGE_OF, "category": "x", "data": NESTED}).data == NESTED
    assert App("a", SECRET).api_key == SECRET
    assert ApiTool(slug="s", headers=SECRET).headers == SECRET
    assert repr(ApiTool(slug="s", headers=None)) == "ApiTool(slug='s', headers=None)"


@loop_over("name", ["", "secretary", "key", "tokens_used", "uid", "sessionid"])
def test_other_names_hide_nothing(name: str) -> None:
    assert not is_credential(name)
    assert for_repr(name, "x") == "x"
    assert (for_repr("secret", ""), for_repr("token", None)) == ("", None)


def test_a_masked_value_is_a_copy_of_the_same_shape() -> None:
    value = {"a": [1, ("x", None)], 3: b"abc"}
    shown = for_repr("", value)
    assert repr(shown) == "{'a': [1, ('x', None)], 3: <3 bytes>}"
    assert value == {"a": [1, ("x", None)], 3: b"abc"}


KEYS = st.text("0123456789abcdefABC/+=.*$^()[]{}?\\|", min_size=8, max_size=20)


@given(KEYS, st.text(max_size=20), st.text(max_size=20))
@settings(max_examples=20)  # each compiles the patterns of its key
def test_a_known_key_is_removed_from_a_text(key: str, before: str, after: str) -> None:
    for text in (f"{before}{key}{after}", f"{before}{key.upper()}{key}{after}"):
        assert (
            key.lower() not in scrub(text, [key]).replace(HIDDEN, "").lower()
            or key.lower() in (before + after).lower()
        )


def test_a_secret_that_begins_with_another_is_removed_completely() -> None:
    assert "-tail" not in scrub("refused: 0123456789-tail", ["0123456789", "0123456789-tail"])


def test_a_text_without_credentials_is_unchanged() -> None:
    assert scrub("user bob does not exist: 404", ["k3y"]) == "user bob does not exist: 404"
    assert scrub("x", ["", "k"]) == "x"


def test_json_is_scrubbed_by_name_and_by_value() -> None:
    record = scrub_all({"secret": "x", "password": "", "n": 5, "t": "key=K", "l": ["K"]}, ["K"])
    assert record == {"secret": HIDDEN, "password": "", "n": 5, "t": f"[hidden]ey={HIDDEN}", "l": [HIDDEN]}


ODD = "k3y\"w/<i>&\\t'h%25+marks=="


@loop_over(
    "spelt",
    [
        ODD,
        quote(ODD),
        quote(ODD, safe="").lower(),
        quote_plus(ODD),
        escape(ODD),
        json.dumps(ODD),
        json.dumps(json.dumps(ODD)),
        json.dumps(ODD).replace("/", "\\/"),
        json.dumps(quote(ODD)),
        escape(json.dumps(ODD)),
        "".join(f"\\u{ord(char):04X}" for char in ODD),
        "".join(f"&#{ord(char)};" for char in ODD),
        "".join(f"&#x{ord(char):x};" for char in ODD),
    ],
)
def test_a_key_is_removed_in_any_escaping(spelt: str) -> None:
    scrubbed = scrub(f"no key {spelt} here", [ODD, "other"])
    assert "marks" not in scrubbed
    assert scrubbed.startswith("no key ")
    assert scrubbed.endswith(" here")
    assert len(spelt) <= longest_spelling([ODD])


@loop_over("key", ["\\", "\\\\\\", "a" * 30, "\\" * 30, "%" * 30, "u0075" * 6])
def test_no_text_takes_long_to_search(key: str) -> None:
    began = time.process_time()
    for text in (
        key[:-1] * 300,
        "\\" * 9000,
        "&#0" * 3000,
        "secret" * 2000,
        'secret:"' + "\\" * 9000,
        "%25" * 3000,
    ):
        scrub(text, [key])
    assert time.process_time() - began < 2


@loop_over(
    "text",
    [
        f"apikey: {SECRET}",
        f"apiKey={SECRET}&x=1",
        f'{{"secret":"{SECRET}"}}',
        f"{{'password' : '{SECRET}'}}",
        f"api_key = {SECRET}, and",
        f"auth-token:{SECRET}",
        f'"authToken": "{SECRET}"',
        f"<b>secret={SECRET}</b>",
        f'{{"token":"{SECRET}"}}',
        f"accessKey={SECRET}",
        r'secret:"a\"s3cr3t-Value"',
        r"secret: 'a\'s3cr3t-Value'",
        r"{\"secret\":\"s3cr3t-Value\"}",
        '"password": "two words s3cr3t-Value, cut off',
        f'apiKeys: ["a", "{SECRET}"]',
        f'api-keys={{"a": "b", "c": "{SECRET}"}}',
    ],
)
def test_the_complete_value_of_a_credential_name_is_removed(text: str) -> None:
    scrubbed = scrub(text, [])
    assert SECRET not in scrubbed
    assert HIDDEN in scrubbed
    assert scrub(scrubbed, []) == scrubbed


@loop_over("name", sorted(_CREDENTIALS))
def test_a_credential_is_recognised_in_every_spelling(name: str) -> None:
    """By a repr, in a text, and in JSON, where the words of a name are not split."""
    whole = [name, name.upper(), f"_{name}", f"{name}_"]
    for spelt in (*whole, f"{name[:3]}_{name[3:]}", f"{name[:3]}-{name[3:]}"):
        assert is_credential(spelt)
        assert repr(for_repr(spelt, "x")) == repr(for_repr(spelt, {"x": 1})) == HIDDEN
        assert SECRET not in scrub(f"{spelt}={SECRET}", [])
    for spelt in (*whole, name.replace("key", "_Key").replace("token", "-TOKEN").replace("url", "_url")):
        value = {"a": [{spelt: SECRET}]}
        assert SECRET not in repr(hide_in_repr(value, json.dumps(value).encode()))


def test_deep_nesting_becomes_a_short_text() -> None:
    value: object = "x"
    for _ in range(900):
        value = [value]
    assert "nested too deeply" in str(scrub_all(value, []))
    assert str(scrub_all([[["x"]]], [])) == "[[['x']]]"


def test_a_value_without_a_repr_is_shown_by_its_type() -> None:
    assert repr_of(10**5000) == "[int too long to be written]"
    assert repr_of("a") == "'a'"


DAMAGED_CALL = {
    "id": "1", "category": "call", "type": "audio", "sender": "a", "receiver": "b", "receiverType": "user",
    "conversationId": "a_user_b", "sentAt": 1, "updatedAt": 1,
}  # fmt: skip


@loop_over(
    "entity",
    [
        {"wsChannel": {"identity": "i", "secret": "TOP-SECRET"}},
        json.dumps({"wsChannel": {"identity": "i", "secret": "TOP-SECRET"}}),
        json.dumps({"call": json.dumps({"secret": "TOP-SECRET"})}),
        json.dumps(json.dumps({"wsChannel": {"secret": "TOP-SECRET"}})),
        [{"token": ["TOP-SECRET"]}],
    ],
)
def test_no_repr_of_a_damaged_call_shows_its_secret(entity: object) -> None:
    data = {"action": 7, "entities": {"on": {"entity": entity, "entityType": "call"}}}
    message = parse(Message, {**DAMAGED_CALL, "data": data})
    assert type(message) is UnknownMessage
    event = webhooks.parse(json.dumps({"trigger": "strange", "data": {"message": {"data": data}}}))
    for value in (message, message.data, message.data["entities"], message.data["entities"]["on"], event):
        assert "TOP-SECRET" not in repr(value) + str(value) + f"{value}" + pretty_repr(value)
    assert "TOP-SECRET" not in repr(event.data["message"]["data"]["entities"])
    assert message.data == data
    assert pickle.loads(pickle.dumps(message.data)) == data
    assert message.to_dict()["data"] == json.loads(msgspec.json.encode(message.data)) == data


def test_json_without_a_credential_is_unchanged() -> None:
    value = {"a": [{"monkey": 1}], "b": "{not json"}
    assert hide_in_repr(value, b'{"a":[{"x":1}]}') is value
    assert hide_in_repr(value, json.dumps(value).encode()) == value
    assert repr(hide_in_repr(value, json.dumps(value).encode())) == repr(value)


def test_a_deeply_nested_object_is_guarded_without_a_recursion_error() -> None:
    deep: object = {"secret": "s"}
    for _ in range(2000):
        deep = {"a": deep}
    assert isinstance(hide_in_repr(deep, b"secret"), dict)
