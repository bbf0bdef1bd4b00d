"""A chat backend with FastAPI: a browser reads a conversation and sends, and never sees the API key.

    python -m chatrest.examples.fastapi_backend

Runs an emulator and the backend, and prints what a browser gets. In your program, serve with uvicorn:

    app = make_app(lambda: AsyncSession(App.from_env(), cursor_key=os.environb[b"CURSOR_KEY"]), find_user)
"""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import ceil
from secrets import token_bytes
from typing import Annotated, Any, Final, TypeAlias
from uuid import uuid4

try:
    import httpx
    from fastapi import Depends, FastAPI, Header, HTTPException, Request, Response
    from fastapi.responses import JSONResponse
    from pydantic import BaseModel, Field
except ModuleNotFoundError:
    if __name__ == "__main__":
        sys.exit("This example needs FastAPI and HTTPX: pip install fastapi httpx")
    raise

from chatrest import AsyncSession, Message, MessageQuery, NewMessage, errors
from chatrest.emulator import Emulator

LOGGER: Final = logging.getLogger(__name__)
REQUEST_SECONDS: Final = 3.0  # for all calls of a request
PAGE_SIZE: Final = 20
ERRORS: Final = (
    # First: two of its subclasses are a ServerError or a DeadlineExceededError, too.
    (errors.OutcomeUnknownError, 504, "outcome_unknown"),
    (errors.RequestInvalidError, 400, "invalid_argument"),
    (errors.BadRequestError, 400, "bad_request"),
    (errors.CursorError, 400, "cursor_refused"),
    (errors.AuthenticationError, 500, "misconfigured"),
    (errors.PermissionDeniedError, 403, "permission_denied"),
    (errors.NotFoundError, 404, "not_found"),
    (errors.ConflictError, 409, "conflict"),
    (errors.RateLimitError, 503, "busy"),
    (errors.ConnectError, 503, "unavailable"),
    (errors.RequestTimeoutError, 504, "timeout"),
    (errors.DeadlineExceededError, 504, "timeout"),
    (errors.ChatRestError, 502, "service_failed"),
)
"""The first row whose class fits is the answer; `chatrest guide backends` says why."""


class NewText(BaseModel):
    """A message to send."""

    text: str = Field(min_length=1, max_length=5000)
    muid: str = Field(pattern="^[0-9a-zA-Z-]{16,64}$")
    """The browser's id for the message: `crypto.randomUUID()`."""
    repeated: bool = False
    """True after `outcome_unknown`, or no answer: then it is sent only if it did not arrive."""


async def open_chat(request: Request, authorization: Annotated[str, Header()] = "") -> AsyncSession:
    """Return the session as the user of the header `Authorization: Bearer …`, with one deadline for all."""
    uid = request.app.state.find_user(authorization.removeprefix("Bearer "))
    if uid is None:
        raise HTTPException(401, "sign in first", {"WWW-Authenticate": "Bearer"})
    session: AsyncSession = request.app.state.session
    return session.within(REQUEST_SECONDS).as_user(uid)


UserChat: TypeAlias = Annotated[AsyncSession, Depends(open_chat)]


async def read_messages(peer: str, chat: UserChat, cursor: str | None = None) -> dict[str, Any]:
    """Return a page of the conversation with `peer`, newest first; `next` is the token of the next page."""
    # A token moves within this very list: the uid of the signed-in user cannot be replaced by it.
    page = await chat.messages.list_user(peer, MessageQuery(affix="prepend"), cursor=cursor).page(PAGE_SIZE)
    return {"messages": [message_view(message) for message in page.items], "next": page.next}


async def send_message(peer: str, new: NewText, chat: UserChat) -> dict[str, Any]:
    """Send a message to `peer`, once, also if the browser repeats the request."""
    if new.repeated:
        sent = await chat.messages.find_sent(new.muid, receiver=peer)
        if sent is not None:
            return message_view(sent)
    return message_view(await chat.messages.send(NewMessage.text(peer, new.text, muid=new.muid)))


def message_view(message: Message) -> dict[str, Any]:
    """Return what the browser shows of a message of any kind."""
    # A user may write half of a character, which UTF-8 cannot express.
    text = (message.text or f"({message.category})").encode("utf-8", "replace").decode()
    return {"id": message.id, "sender": message.sender, "sent_at": message.sent_at, "text": text}


async def show_error(request: Request, error: Exception) -> Response:
    """Answer an error with its status. Its text goes to the log alone: it names operations and arguments."""
    LOGGER.warning("%s %r: %s", request.method, request.url.path, error)  # a path may hold any character
    kind, seconds = type(error), getattr(error, "retry_after", None)
    if isinstance(error, errors.OutcomeUnknownError):
        seconds = None  # a client that repeats by itself at that time could send twice
    elif isinstance(error, errors.DeadlineExceededError) and error.reason == "rate limit":
        kind = errors.RateLimitError  # the wait for the limit did not fit into the deadline
    elif isinstance(error, errors.CursorError) and error.operation:
        kind = errors.ServerError  # its own cursors: a token is refused before any operation
    status, code = next((status, code) for row, status, code in ERRORS if issubclass(kind, row))
    headers = None if seconds is None else {"Retry-After": str(max(1, ceil(seconds)))}
    return JSONResponse({"error": code}, status, headers)


def make_app(make_session: Callable[[], AsyncSession], find_user: Callable[[str], str | None]) -> FastAPI:
    """Return the backend, which has one session."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with make_session() as app.state.session:
            yield

    app = FastAPI(lifespan=lifespan, exception_handlers={errors.ChatRestError: show_error})
    app.state.find_user = find_user
    app.get("/conversations/{peer}/messages")(read_messages)
    app.post("/conversations/{peer}/messages", status_code=201)(send_message)
    return app


async def main() -> None:
    """Run emulator and backend, and play a browser."""
    key, path = token_bytes(32), "/conversations/user-002/messages"
    async with Emulator(users=5, messages=500) as emulator:
        app = make_app(lambda: AsyncSession(emulator.app, cursor_key=key), {"ann": "user-001"}.get)
        transport = httpx.ASGITransport(app)  # no port is needed for a browser in the same process
        browser = httpx.AsyncClient(transport=transport, base_url="https://backend")
        async with app.router.lifespan_context(app), browser:
            answers = [await browser.get(path)]
            browser.headers["Authorization"] = "Bearer ann"
            answers.append(await browser.get(path))
            answers.append(await browser.get(path, params={"cursor": answers[-1].json()["next"]}))
            answers.append(await browser.post(path, json={"text": "hello", "muid": str(uuid4())}))
            answers.append(await browser.get("/conversations/nobody/messages"))
    for answer in answers:
        sys.stdout.write(f"{answer.request.method} {answer.url}\n    {answer} {answer.text:.90}\n")


if __name__ == "__main__":
    asyncio.run(main())
