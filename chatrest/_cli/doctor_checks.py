"""The checks of `doctor`: from the installation to an answer of the service, each with what to do.

One request is made, whose error says how far it came. A check whose needs have failed is skipped. Keys are
not sent before the certificate is checked, and never over http but to an address that the user allowed.
"""

import os
import platform
import sys
import time
from collections.abc import AsyncIterator, Callable
from importlib.metadata import PackageNotFoundError, version
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final
from urllib.parse import urlsplit

from msgspec import Struct

from .._core.environment import headers_from_env
from .._core.replies.rate_signal import http_date
from .._extras import DISTRIBUTION
from ..app import REGIONS, App, is_loopback
from ..errors import (
    AuthenticationError,
    ChatRestError,
    ConnectError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    RequestInvalidError,
    ServerError,
)
from . import streams
from .environment import app_name, apps_file, proxy, the_app

if TYPE_CHECKING:
    from .._network.options import RawReply

State: TypeAlias = Literal["ok", "warning", "failed", "skipped"]
_LIBRARIES: Final = ("aiohttp", "msgspec", "tenacity")
_PROXIES: Final = ("https_proxy", "all_proxy")
_SKEW: Final = 30.0
"""Seconds that the clocks of this machine and of the service may differ: the header counts whole ones."""
_ADVICE: Final = {
    "settings": "see 'chatrest --help' for the variables, 'chatrest guide many-apps' for a file of apps",
    "HTTPS_PROXY": "set CHATREST_PROXY to its value if the service is behind that proxy",
    "proxy": "check CHATREST_PROXY or --proxy",
    "name": "check the network, then {names}; behind a proxy set CHATREST_PROXY",
    "connection": "check the address, its port and the firewall; behind a proxy set CHATREST_PROXY",
    "tls": "is that an https address, and its port right?",
    "expired": "the certificate has expired: check this machine's clock; else the service has to renew it",
    "not yet valid": "the certificate is not valid yet: check this machine's clock",
    "other host": "the certificate is another host's: check the address",
    "certificate": "its issuer is not trusted here: where a proxy of your company opens TLS, set "
    "SSL_CERT_FILE to a file with its certificate",
    "no reply": "the address is not the service's, or it is down: try it again later",
    "by proxy": "check the proxy: it may refuse the host, or open TLS with a certificate not trusted here",
    "server": "the service fails: try it again later",
    "service": "check that the address is the service's, with its version (/v3)",
    "clock": "set this machine's clock: times such as --since 1h, and TLS, go by it",
    "key": "copy the REST API key (fullAccess) from the app's dashboard; a key is of one app and one region",
    "token": "take the login token out of CHATREST_HEADERS, and check the key without it",
    "scope": "it may be an Auth Key (authOnly), which creates users and tokens only: take the REST API key",
    "region": "set CHATREST_REGION={region}, or region in the file of apps",
}
"""What to do, by what has failed; of a connection, by the `reason` of its error."""
_STEPS: Final = ("proxy", "dns", "connection", "tls")
_STEP_OF: Final = {"name": "dns", "connection": "connection", "proxy": "proxy", "by proxy": "service"}
"""The check that fails for a `reason`; for any other one it is `tls`."""
NAMES: Final = ("versions", "settings", *_STEPS, "service", "clock", "key", "region")


class Check(Struct, frozen=True):
    """The result of one check."""

    name: str
    state: State
    text: str
    advice: str = ""


Clock: TypeAlias = Callable[[], float]


async def examine(now: Clock = time.time) -> AsyncIterator[Check]:
    """Yield the checks as they end; those that need one that has failed are skipped."""
    count = 0
    async for check in _checks(now):
        yield check
        count += 1
    for name in NAMES[count:]:
        yield Check(name, "skipped", f"needs {check.name}")


async def _checks(now: Clock) -> AsyncIterator[Check]:
    yield _versions()
    app, check = _settings()
    yield check
    if app is not None:
        async for check in _Answer(app, now).checks():
            yield check


# ── this machine ──


def _versions() -> Check:
    libraries = ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES)
    python = f"Python {platform.python_version()}, {sys.platform}"
    return Check("versions", "ok", f"{DISTRIBUTION} {_version(DISTRIBUTION)}, {python}; {libraries}")


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "(not installed)"


def _settings() -> tuple[App | None, Check]:
    try:
        app = the_app()
        address = app.chat_url
        headers = len(headers_from_env())
        proxy_address = proxy()
        if proxy_address is not None:
            from ..session import AsyncSession

            AsyncSession(app, proxy=proxy_address)  # checks both
    except (RequestInvalidError, OSError) as error:
        return None, Check("settings", "failed", str(error), _ADVICE["settings"])
    place = "the environment" if (name := app_name()) is None else f"app {name!r} of {apps_file()}"
    more = f", {headers} further header{'s' * (headers > 1)}" if headers else ""
    key = f"a key of {len(app.api_key)} characters"
    text = f"{place}: app {app.app_id}, region {app.region}, {address}, {key}{more}"
    return app, Check("settings", "ok", text)


# ── what the service answers ──


@final
class _Answer:
    """One request, a page of one user, and what its reply says."""

    def __init__(self, app: App, now: Clock, patience: float = 10.0) -> None:
        """Ask the service of `app`; `now` is the clock of this machine, `patience` seconds for the reply."""
        self._app, self._now, self._patience = app, now, patience
        self._seconds = 0.0
        self._replies: list[RawReply] = []

    async def checks(self) -> AsyncIterator[Check]:
        error = await self._ask(self._app)
        failed = self._failed_step(error)
        for name in takewhile(lambda name: failed is None or name != failed.name, _STEPS):
            yield self._passed(name)
        if failed is not None:
            yield failed
            return
        reply = self._replies[-1]
        yield self._service(reply, error)
        yield self._clock(reply)
        yield self._key(error)
        yield await self._region(error)

    def _failed_step(self, error: ChatRestError | None) -> Check | None:
        """Return the check that failed where no reply came; None with one."""
        if self._replies:
            return None
        reason = error.reason if isinstance(error, ConnectError) else "no reply"
        step = "service" if reason == "no reply" else _STEP_OF.get(reason, "tls")
        if proxy() is not None and step in ("dns", "connection"):
            step, reason = "service", "by proxy"
        names = "the app's id and region, and CHATREST_SERVICE_DOMAIN"
        advice = _ADVICE[reason].format(names=names if self._app.base_url is None else "CHATREST_BASE_URL")
        return Check(step, "failed", str(error), advice)

    def _passed(self, step: str) -> Check:
        """Return the check of a step on the way to the service that the request has passed."""
        parts = urlsplit(self._app.chat_url)
        address = proxy()
        if step == "proxy":
            return _proxy_check(address)
        if address is not None:
            return Check(step, "skipped", "left to the proxy")
        if step == "tls" and parts.scheme == "http":
            state: State = "ok" if is_loopback(parts.hostname or "") else "warning"
            return Check("tls", state, "none: everybody on the way to an http address can read the key")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        text = {"dns": f"{parts.hostname} has an address", "tls": "its certificate is accepted"}
        return Check(step, "ok", text.get(step, f"{parts.hostname}:{port} takes connections"))

    async def _ask(self, app: App) -> ChatRestError | None:
        """List one user; return the error of the call."""
        from .._core.pace.retry import RetryPolicy
        from .._parameters.users import UserQuery
        from ..session import AsyncSession

        options: Any = {"retry": RetryPolicy(attempts=1), "deadline": self._patience}
        async with AsyncSession(app, headers=headers_from_env(), proxy=proxy(), **options) as session:
            view = session.with_options(on_reply=self._replies.append)
            began = time.monotonic()
            try:
                await view.users.list(UserQuery(per_page=1)).page(1)
            except ChatRestError as error:
                return error
            finally:
                self._seconds = time.monotonic() - began
        return None

    def _service(self, reply: "RawReply", error: ChatRestError | None) -> Check:
        text = f"{reply.status} in {self._seconds * 1000:.0f} ms"
        text += f", request id {reply.request_id}" if reply.request_id else ""
        if error is None or isinstance(error, AuthenticationError | PermissionDeniedError | RateLimitError):
            return Check("service", "ok", text)
        advice = _ADVICE["server" if isinstance(error, ServerError) else "service"]
        return Check("service", "failed", f"{text}: {error}", advice)

    def _clock(self, reply: "RawReply") -> Check:
        date = http_date(reply.headers.get("Date", ""))
        if date is None:
            return Check("clock", "skipped", "the reply has no date")
        skew = self._now() - date
        if abs(skew) <= _SKEW:
            return Check("clock", "ok", f"{abs(skew):.0f} s from the service's")
        side = "ahead of" if skew > 0 else "behind"
        return Check("clock", "warning", f"{abs(skew):,.0f} s {side} the service's", _ADVICE["clock"])

    def _key(self, error: ChatRestError | None) -> Check:
        match error:
            case None if "authtoken" in map(str.lower, headers_from_env()):  # a service may take it instead
                text = "not judged: the service may have taken the login token of CHATREST_HEADERS instead"
                return Check("key", "warning", text, _ADVICE["token"])
            case None:
                return Check("key", "ok", "accepted; it may list users, so its scope is fullAccess")
            case AuthenticationError():
                return Check("key", "failed", f"refused: {error}", _ADVICE["key"])
            case PermissionDeniedError():
                return Check("key", "failed", f"it may not list users: {error}", _ADVICE["scope"])
        return Check("key", "skipped", "the reply does not tell")

    async def _region(self, error: ChatRestError | None) -> Check:
        region = self._app.region
        if error is None:
            return Check("region", "ok", region)
        is_refused = isinstance(error, AuthenticationError | NotFoundError)
        if self._app.base_url is not None or not is_refused:
            return Check("region", "skipped", f"{region}; the reply does not tell")
        for other in REGIONS:  # the same service: its domain is the one that the key is for
            if other != region and await self._ask(_in_region(self._app, other)) is None:
                text = f"{region}, and {other} takes the key"
                return Check("region", "failed", text, _ADVICE["region"].format(region=other))
        return Check("region", "skipped", f"{region}; no other region takes the key")


def _proxy_check(address: str | None) -> Check:
    if address is not None:
        parts = urlsplit(address)
        return Check(
            "proxy", "ok", f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"
        )
    ignored = sorted(name for name, value in os.environ.items() if name.lower() in _PROXIES and value)
    if ignored:
        return Check(
            "proxy", "warning", f"none; {ignored[0]} is set, and is not read", _ADVICE["HTTPS_PROXY"]
        )
    return Check("proxy", "ok", "none")


def _in_region(app: App, region: str) -> App:
    return App(app.app_id, app.api_key, region, service_domain=app.service_domain, version=app.version)


def line_of(check: Check) -> str:
    """Return a check as a line: its state, its name, what was found, and what to do."""
    mark = {"ok": "ok", "warning": "warning", "failed": "FAILED", "skipped": "-"}[check.state]
    advice = f" → {check.advice}" if check.advice else ""
    return streams.without_keys(streams.visible(f"{mark:<8} {check.name:<11} {check.text}{advice}"))
