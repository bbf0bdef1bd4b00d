"""Records in pydantic models and as responses of FastAPI."""

import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from chatrest import Ack, Conversation, MediaMessage, Message, TextMessage, UnknownMessage, User, parse
from tests.core.replies.documented import GOOD, TEXT

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

ODD = {**TEXT, "category": "poll", "from the future": 1}
HELD = {"conversationId": "c", "unreadMessageCount": "3", "lastMessage": {**TEXT, "extra": 1}}


class Box(BaseModel):
    message: Message
    people: list[User] = []


def service() -> "FastAPI":
    from fastapi import FastAPI  # takes long to load

    app = FastAPI()

    @app.get("/annotated")
    async def annotated() -> Message:
        return parse(Message, TEXT)

    @app.get("/plain")
    async def plain():  # type: ignore[no-untyped-def]
        return parse(Message, TEXT)

    @app.get("/list", response_model=list[Message])
    async def messages() -> Any:
        return [parse(Message, record) for record in (*GOOD, ODD)]

    @app.get("/conversation")
    async def conversation() -> Conversation:
        return parse(Conversation, HELD)

    @app.get("/nested")
    async def nested():  # type: ignore[no-untyped-def]
        return {"ack": Ack(), "messages": [parse(Message, TEXT)]}

    @app.post("/box")
    async def box(box: Box) -> Box:
        assert isinstance(box.message, TextMessage | MediaMessage | UnknownMessage)
        return box

    return app


@pytest.fixture(scope="module")
def client() -> "TestClient":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of starlette, about the version of httpx
        from fastapi.testclient import TestClient
    return TestClient(service())


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/annotated", TEXT),
        ("/plain", TEXT),
        ("/list", [*GOOD, ODD]),
        ("/conversation", HELD),
        ("/nested", {"ack": {"success": True}, "messages": [TEXT]}),
    ],
)
def test_a_record_is_a_response(client: "TestClient", path: str, expected: Any) -> None:
    reply = client.get(path)
    assert (reply.status_code, reply.json()) == (200, expected)


@pytest.mark.parametrize("message", [TEXT, ODD])
def test_a_record_is_a_field_of_a_model(client: "TestClient", message: dict[str, Any]) -> None:
    body = {"message": message, "people": [{"uid": "a", "name": "A"}]}
    reply = client.post("/box", json=body)
    assert (reply.status_code, reply.json()) == (200, body)


def test_a_wrong_record_is_an_error_that_names_its_field(client: "TestClient") -> None:
    reply = client.post("/box", json={"message": TEXT, "people": [{"name": "A"}]})
    assert reply.status_code == 422
    assert "uid: expected text, got nothing" in reply.text
    with pytest.raises(ValidationError, match="is no TextMessage"):
        TypeAdapter(TextMessage).validate_python(ODD)


def test_the_documentation_names_the_members_of_records(client: "TestClient") -> None:
    schema = TypeAdapter(User).json_schema()
    assert (schema["title"], schema["type"], schema["required"]) == ("User", "object", ["uid"])
    assert "statusMessage" in schema["properties"]
    assert "category" in TypeAdapter(TextMessage).json_schema()["properties"]
    assert "raw" not in TypeAdapter(UnknownMessage).json_schema()["properties"]
    assert client.get("/openapi.json").status_code == 200


def test_a_record_read_by_pydantic_is_that_of_parse() -> None:
    kinds: TypeAdapter[Any] = TypeAdapter(Message)
    for record in (*GOOD, ODD):
        message = parse(Message, record)
        assert kinds.validate_python(message) is message
        assert kinds.validate_python(record) == message
        assert kinds.dump_python(message) == dict(message) == message.to_dict() == record


def test_pydantic_is_not_imported() -> None:
    code = "import sys, chatrest\nchatrest.User('a').to_dict()\nprint('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "False", done.stderr
