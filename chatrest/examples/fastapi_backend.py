"""A chat backend with FastAPI: a browser reads and sends messages, and never sees the API key.

    python -m chatrest.examples.fastapi_backend

Starts an emulator and the backend, plays a browser against them, and prints what the browser gets and what
the backend logs. In your program, give `make_app` your session and your sign-in:

    def open_chat() -> AsyncSession:
        return AsyncSession(App.from_env(), cursor_key=os.environb[b"CURSOR_KEY"])

    app = make_app(open_chat, find_user)  # find_user: from a login to a uid, or None

and serve `app` with an ASGI server such as uvicorn.
"""

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import ceil
from secrets import token_bytes
from typing import Annotated, Final, NamedTuple, Self, TypeAlias, final
from uuid import uuid4

try:
    import httpx
    from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Request, Response
    from fastapi.responses import JSONResponse
    from pydantic import BaseModel, Field
except ModuleNotFoundError:
    if __name__ == "__main__":
        sys.exit("This example needs FastAPI and HTTPX: pip install fastapi httpx")
    raise

from chatrest import (
    ActingUserIgnoredError,
    ApiError,
    AsyncSession,
    AuthenticationError,
    BadRequestError,
    ChatRestError,
    ConflictError,
    ConnectError,
    CursorError,
    DeadlineExceededError,
    FanOutError,
    Message,
    MessageQuery,
    NewMessage,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    RateLimitError,
    RequestInvalidError,
    RequestTimeoutError,
    ServerError,
    TextMessage,
    TransportError,
)
from chatrest.emulator import Emulator, First, Reset, TooManyRequests

LOGGER: Final = logging.getLogger(__name__)
REQUEST_SECONDS: Final = 3.0
"""The time that a request has for all its calls."""
PAGE: Final = 20
"""Messages a page."""
REPEATED_WITHIN: Final = 3600.0
"""Seconds for which a browser may repeat a message: older ones are not searched."""
FindUser: TypeAlias = Callable[[str], str | None]
"""Gives the uid of a login, None for a login that is not valid."""


# ── what goes to a browser and comes from it ──


@final
class ChatMessage(BaseModel):
    """A message, with the fields that the browser shows."""

    id: str
    sender: str
    sent_at: int
    text: str

    @classmethod
    def of(cls, message: Message) -> Self:
        """Return the fields of any kind of message."""
        text = message.data.text if isinstance(message, TextMessage) else f"({message.category})"
        # A user may write half of a character, which UTF-8 cannot express.
        text = str(text).encode("utf-8", "replace").decode()
        return cls(id=message.id, sender=message.sender, sent_at=message.sent_at, text=text)


@final
class MessagePage(BaseModel):
    """A page of a conversation, the newest message first."""

    messages: list[ChatMessage]
    next: str | None
    """The token of the next page; None at the end. Signed, so that the browser can only give it back."""


@final
class NewText(BaseModel):
    """A message to send."""

    text: str = Field(min_length=1, max_length=5000)
    muid: str = Field(pattern="^[0-9a-zA-Z-]{16,64}$")
    """The id that the browser gives the message: `crypto.randomUUID()`."""
    repeated: bool = False
    """True if the message may have arrived: an answer was `outcome_unknown`, or none came."""


# ── a request: its user, and its time ──


@final
class Chat:
    """The chat service for one request of a signed-in user."""

    def __init__(self, session: AsyncSession, uid: str) -> None:
        self.uid = uid
        self.as_app = session.within(REQUEST_SECONDS)
        """Makes the app's calls; those of the user have the same end."""
        self.as_user = self.as_app.as_user(uid)


async def open_request(request: Request, authorization: Annotated[str, Header()] = "") -> Chat:
    """Return the chat service for the user whose login is in the header `Authorization: Bearer …`."""
    find_user: FindUser = request.app.state.find_user
    uid = find_user(authorization.removeprefix("Bearer "))
    if uid is None:
        raise HTTPException(401, "sign in first", {"WWW-Authenticate": "Bearer"})
    return Chat(request.app.state.session, uid)


RequestChat: TypeAlias = Annotated[Chat, Depends(open_request)]
router: Final = APIRouter()


@router.get("/conversations/{peer}/messages")
async def read_messages(peer: str, chat: RequestChat, cursor: str | None = None) -> MessagePage:
    """Return a page of the conversation of the signed-in user with `peer`."""
    query = MessageQuery(affix="prepend")
    # A token moves within this very list: the uid of the signed-in user cannot be replaced by it.
    page = await chat.as_user.messages.list_user(peer, query, cursor=cursor).page(PAGE)
    return MessagePage(messages=[ChatMessage.of(message) for message in page.items], next=page.next)


@router.post("/conversations/{peer}/messages", status_code=201)
async def send_message(peer: str, new: NewText, chat: RequestChat) -> ChatMessage:
    """Send a message to `peer`, once, also if the browser repeats the request."""
    if new.repeated and (message := await find_message(peer, new.muid, chat)) is not None:
        return ChatMessage.of(message)
    try:
        # Half of the time, so that some is left for the question if the message arrived.
        sender = chat.as_user.within(REQUEST_SECONDS / 2)
        return ChatMessage.of(await sender.messages.send(NewMessage.text(peer, new.text, muid=new.muid)))
    except OutcomeUnknownError as unknown:
        try:
            message = await find_message(peer, new.muid, chat)
        except ChatRestError as error:
            raise unknown from error
        if message is None:  # it may still arrive: the browser asks again, with `repeated`
            raise
        return ChatMessage.of(message)


async def find_message(peer: str, muid: str, chat: Chat) -> Message | None:
    """Return the user's message with this muid, or None if it did not arrive."""
    since = time.time() - REPEATED_WITHIN
    return await chat.as_user.messages.find_sent(muid, receiver=peer, since=since, pauses=(0.2,))


@router.post("/chat-token")
async def make_token(chat: RequestChat, response: Response) -> dict[str, str]:
    """Return a token by which the signed-in user's own client logs in to the chat service."""
    response.headers["Cache-Control"] = "no-store"
    # An unknown outcome needs no settling here: the browser asks again, and an unused token does no harm.
    token = await chat.as_app.auth_tokens.create(chat.uid)
    return {"auth_token": token.auth_token}


# ── errors ──


class ErrorStatus(NamedTuple):
    """A row of the table: the answer for one class of errors and its subclasses."""

    kind: type[ChatRestError]
    status: int
    code: str
    message: str


class ErrorAnswer(NamedTuple):
    """The answer to a request that failed."""

    status: int
    body: dict[str, str]
    headers: dict[str, str]


ERROR_STATUSES: Final = (
    # First, as two of its subclasses are also a ServerError or a DeadlineExceededError.
    ErrorStatus(OutcomeUnknownError, 504, "outcome_unknown", "It is not known if the change was made."),
    ErrorStatus(RequestInvalidError, 400, "invalid_argument", "An argument is not allowed."),
    ErrorStatus(BadRequestError, 400, "bad_request", "The chat service refused the request."),
    ErrorStatus(CursorError, 400, "cursor_refused", "The list cannot be continued: start it again."),
    ErrorStatus(AuthenticationError, 500, "misconfigured", "The backend is not set up correctly."),
    ErrorStatus(PermissionDeniedError, 403, "permission_denied", "That is not permitted."),
    ErrorStatus(ActingUserIgnoredError, 502, "wrong_user", "The chat service answered for another user."),
    ErrorStatus(NotFoundError, 404, "not_found", "There is no such user, group or message."),
    ErrorStatus(ConflictError, 409, "conflict", "The state does not allow it, or it is done already."),
    ErrorStatus(RateLimitError, 503, "busy", "The chat service is busy: try again later."),
    ErrorStatus(ConnectError, 503, "unavailable", "The chat service cannot be reached: try again later."),
    ErrorStatus(RequestTimeoutError, 504, "timeout", "The chat service did not answer in time."),
    ErrorStatus(DeadlineExceededError, 504, "timeout", "The chat service did not answer in time."),
    ErrorStatus(ServerError, 502, "service_failed", "The chat service failed: try again later."),
    ErrorStatus(ApiError, 502, "service_failed", "The chat service failed: try again later."),
    ErrorStatus(TransportError, 502, "service_failed", "The chat service failed: try again later."),
    ErrorStatus(FanOutError, 502, "service_failed", "The chat service failed: try again later."),
    ErrorStatus(ChatRestError, 500, "failed", "The request failed."),
)
"""The first row whose class fits is the answer; `chatrest guide backends` says why. The browser gets these
texts, never the error's own: that names operations and arguments, and belongs into the log."""


def answer_error(error: ChatRestError) -> ErrorAnswer:
    """Return the answer for an error, without anything of its text."""
    kind = _kind_of(error)
    row = next(row for row in ERROR_STATUSES if issubclass(kind, row.kind))
    seconds: float | None = getattr(error, "retry_after", None)
    headers = {}
    # After an unknown outcome, a client that repeats by itself at that time could make the change twice.
    if seconds is not None and row.kind is not OutcomeUnknownError:
        headers["Retry-After"] = str(max(1, ceil(seconds)))
    return ErrorAnswer(row.status, {"error": row.code, "message": row.message}, headers)


def _kind_of(error: ChatRestError) -> type[ChatRestError]:
    """Return the class that decides; two errors are answered as one of another class."""
    is_unknown = isinstance(error, OutcomeUnknownError)
    if isinstance(error, DeadlineExceededError) and error.reason == "rate limit" and not is_unknown:
        return RateLimitError  # the limit's wait did not fit into the deadline
    if isinstance(error, CursorError) and error.operation:
        return ServerError  # the service's own cursors; a token is refused before any operation
    return type(error)


# ── the application ──


def make_app(open_chat: Callable[[], AsyncSession], find_user: FindUser) -> FastAPI:
    """Return the backend. `open_chat` makes the session of the process, `find_user` knows the logins."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_chat() as app.state.session:
            yield

    app = FastAPI(lifespan=lifespan)
    app.state.find_user = find_user
    app.include_router(router)
    app.add_exception_handler(ChatRestError, show_error)
    return app


async def show_error(request: Request, error: Exception) -> Response:
    """Answer an error of chatrest with its status. Its text, which has no key in it, goes to the log."""
    assert isinstance(error, ChatRestError)
    LOGGER.warning("%s %r: %s", request.method, request.url.path, error)  # a path may hold any character
    answer = answer_error(error)
    return JSONResponse(answer.body, answer.status, answer.headers)


# ── a browser, and a service with faults ──

LOGINS: Final = {"login-of-ann": "user-001", "login-of-bob": "user-002"}
"""What your sign-in would know."""
CONVERSATION: Final = "/conversations/user-002/messages"


async def ask(
    browser: httpx.AsyncClient, purpose: str, method: str, path: str, json: object = None
) -> httpx.Response:
    """Send a request, print it and the answer, and return the answer."""
    response = await browser.request(method, path, json=json)
    seconds = response.headers.get("Retry-After")
    status = (
        f"{response.status_code} {response.reason_phrase}{f', Retry-After: {seconds}' if seconds else ''}"
    )
    sys.stdout.write(f"{purpose}\n    {method} {path:.70}\n    {status}\n    {response.text:.100}\n\n")
    return response


async def browse(browser: httpx.AsyncClient, emulator: Emulator) -> None:
    """Play a browser of the user user-001, while faults strike the service."""
    first = await ask(browser, "The newest messages of a conversation.", "GET", CONVERSATION)
    token = first.json()["next"]
    await ask(browser, "The page after them.", "GET", f"{CONVERSATION}?cursor={token}")
    other = f"/conversations/user-003/messages?cursor={token}"
    await ask(browser, "The token is refused for another conversation.", "GET", other)
    await ask(browser, "There is no such user.", "GET", "/conversations/nobody/messages")
    await ask(browser, "A token for the user's own chat client.", "POST", "/chat-token")

    emulator.weather.add(Reset(route="messages.send", processed=True, when=First()))
    lost = "A message whose reply is lost. The backend finds it by its muid, so that it is not sent twice."
    await ask(browser, lost, "POST", CONVERSATION, {"text": "hello", "muid": str(uuid4())})

    emulator.weather.add(TooManyRequests(route="messages.list_user", wait=20.0))
    busy = "The rate limit is reached, for longer than a request may take. The reply says when to return."
    await ask(browser, busy, "GET", CONVERSATION)


async def run() -> None:
    """Run emulator and backend, and browse without a login and with one."""
    async with Emulator(users=5, messages=500) as emulator:
        cursor_key = token_bytes(32)  # of a real backend, the same in all processes and after a restart
        app = make_app(lambda: AsyncSession(emulator.app, cursor_key=cursor_key), LOGINS.get)
        transport = httpx.ASGITransport(app)  # no port is needed for a browser in the same process
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="https://backend") as browser,
        ):
            await ask(browser, "Nobody is signed in.", "GET", CONVERSATION)
            browser.headers["Authorization"] = "Bearer login-of-ann"
            await browse(browser, emulator)


def main() -> None:
    """Run the example; the backend's log goes between the lines of the browser."""
    logging.basicConfig(stream=sys.stdout, format="(log) %(message)s")
    asyncio.run(run())


if __name__ == "__main__":
    main()
