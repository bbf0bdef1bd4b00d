"""`doctor` and `limits`: if everything from here to the service is right, and how much that lets through.

`doctor` makes one request, whose error says how far it came, and stops at the first check that fails. Keys
are not sent before the certificate is checked, and never over http but to an address that the user allowed.
"""

import platform
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

import click
from msgspec import Struct, structs

from .. import __version__
from .._core.pace.pacer import DOCUMENTED_RATES
from .._texts import DISTRIBUTION, duration, plural
from ..app import App, headers_from_env, is_loopback
from ..errors import (
    AuthenticationError,
    ChatRestError,
    ConnectError,
    PermissionDeniedError,
    RateLimitError,
    RequestInvalidError,
    ServerError,
)
from . import streams
from .command_options import AS_JSON, option_table, shown_default, whole_number
from .environment import apps_file, chosen_app, chosen_app_name, proxy, run, session

if TYPE_CHECKING:
    from .._network.session_options import RawReply
    from ..session import AsyncSession

_ADVICE: Final = {
    "settings": "see 'chatrest --help' for the variables, 'chatrest guide many-apps' for a file of apps",
    "name": "check the network, then the app's id and region, and CHATREST_SERVICE_DOMAIN or "
    "CHATREST_BASE_URL; behind a proxy set CHATREST_PROXY",
    "connection": "check the address, its port and the firewall; behind a proxy set CHATREST_PROXY",
    "tls": "is that an https address, and its port right?",
    "expired": "the certificate has expired: check this machine's clock; else the service has to renew it",
    "not yet valid": "the certificate is not valid yet: check this machine's clock",
    "other host": "the certificate is another host's: check the address",
    "certificate": "its issuer is not trusted here: where a proxy of your company opens TLS, set "
    "SSL_CERT_FILE to a file with its certificate",
    "proxy": "check the proxy (CHATREST_PROXY or --proxy): it may refuse the host, or open TLS with a "
    "certificate not trusted here",
    "no reply": "the address is not the service's, or it is down: try it again later",
    "limited": "the app's limit is used up by other clients: try it again later",
    "server": "the service fails: try it again later",
    "service": "check that the address is the service's, with its version (/v3)",
    "key": "copy the REST API key (fullAccess) from the app's dashboard; a key is of one app and one region",
    "scope": "it may be an Auth Key (authOnly), which creates users and tokens only: take the REST API key",
}
"""What to do, by what has failed; of a connection, by the `reason` of its error."""


class Check(Struct, frozen=True):
    name: str
    state: Literal["ok", "warning", "failed"]
    text: str
    advice: str = ""


@click.command(short_help="Check settings, network, key and versions, and say what to do.")
@option_table(AS_JSON)
def doctor(as_json: bool) -> None:
    """Check everything between this machine and the service, one line per check, with what to do.

    \b
    Examples:
      chatrest doctor
      chatrest --app shop doctor --json | jq '.checks[] | select(.state == "failed")'

    Checks versions, settings, the connection (proxy, name, port and certificate), the service's reply, and
    the key with its scope; the first that fails is the last. One request is made, which lists one user. Keys
    are hidden. Exit status: 0 no check has failed, 1 one has.
    """
    checks = [structs.replace(each, text=streams.without_keys(each.text)) for each in run(examine())]
    is_failed = checks[-1].state == "failed"
    members = {"ok": not is_failed, "checks": [structs.asdict(each) for each in checks]}
    streams.write_result(members, map(line_of, checks), as_json=as_json)
    if is_failed:
        raise ChatRestError(f"the check of {checks[-1].name} has failed")


def line_of(check: Check) -> str:
    mark = "FAILED" if check.state == "failed" else check.state
    advice = f" → {check.advice}" if check.advice else ""
    return streams.visible(f"{mark:<8} {check.name:<11} {check.text}{advice}")


async def examine(patience: float = 10.0) -> list[Check]:
    """Return the checks up to the first that has failed; the reply is waited for `patience` seconds."""
    checks = [_versions()]
    try:
        app = chosen_app()
        checks.append(_settings(app))
        client = session(app=app)  # checks the proxy, too
    except (RequestInvalidError, OSError) as error:
        return [*checks[:1], Check("settings", "failed", str(error), _ADVICE["settings"])]
    replies, failure = await _ask(client, 1, patience)
    checks.append(_connection(app, replies, failure))
    if replies:
        checks.append(_service(replies[0], failure))
    if checks[-1].name == "service" and checks[-1].state == "ok":
        checks.append(_key(failure))
    return checks


def _versions() -> Check:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("aiohttp", "msgspec", "tenacity"))
    python = f"Python {platform.python_version()}, {sys.platform}"
    return Check("versions", "ok", f"{DISTRIBUTION} {__version__}, {python}; {libraries}")


def _settings(app: App) -> Check:
    place = "the environment" if (name := chosen_app_name()) is None else f"app {name!r} of {apps_file()}"
    count = len(headers_from_env())
    more = f", {plural(count, 'further header')}" if count else ""
    key = f"a key of {len(app.api_key)} characters"
    text = f"{place}: app {app.app_id}, region {app.region}, {app.chat_url}, {key}{more}"
    return Check("settings", "ok", text)


async def _ask(
    client: "AsyncSession", requests: int, deadline: float | None
) -> "tuple[list[RawReply], ChatRestError | None]":
    """List one user so many times, at most until a call fails; return all replies, and that error."""
    from .._core.pace.retry import RetryPolicy
    from .._parameters.users import UserQuery

    replies: list[RawReply] = []
    async with client:
        view = client.with_options(on_reply=replies.append, retry=RetryPolicy(attempts=1), deadline=deadline)
        try:
            for _ in range(requests):
                await view.users.list(UserQuery(per_page=1)).page(1)
        except ChatRestError as error:
            return replies, error
    return replies, None


def _connection(app: App, replies: "list[RawReply]", error: ChatRestError | None) -> Check:
    by_proxy, address = proxy() is not None, urlsplit(app.chat_url)
    if not replies:
        reason = error.reason if isinstance(error, ConnectError) else "no reply"
        if by_proxy and reason in ("name", "connection", "by proxy"):
            reason = "proxy"
        return Check("connection", "failed", str(error), _ADVICE.get(reason, _ADVICE["tls"]))
    text = f"{address.netloc}{', by the proxy' if by_proxy else ''}"
    if address.scheme == "https":
        return Check("connection", "ok", f"{text}, its certificate is accepted")
    if is_loopback(address.hostname or ""):
        return Check("connection", "ok", f"{text}, on this machine, without TLS")
    return Check("connection", "warning", f"{text}, without TLS: everybody on the way can read the key")


def _service(reply: "RawReply", error: ChatRestError | None) -> Check:
    text = f"{reply.status}" + (f", request id {reply.request_id}" if reply.request_id else "")
    if error is None or isinstance(error, AuthenticationError | PermissionDeniedError):
        return Check("service", "ok", text)
    if isinstance(error, RateLimitError):
        return Check("service", "warning", f"{text}: {error}", _ADVICE["limited"])
    advice = _ADVICE["server" if isinstance(error, ServerError) else "service"]
    return Check("service", "failed", f"{text}: {error}", advice)


def _key(error: ChatRestError | None) -> Check:
    if error is None:
        return Check("key", "ok", "accepted; it may list users, so its scope is fullAccess")
    if isinstance(error, AuthenticationError):
        return Check("key", "failed", f"refused: {error}", _ADVICE["key"])
    return Check("key", "failed", f"it may not list users: {error}", _ADVICE["scope"])


@click.command(short_help="Show the rate limits that the service states or that a session learns.")
@option_table(
    ("--requests", whole_number(1, 100), "N", "Requests to make, one after another.", shown_default(1)),
)
def limits(requests: int) -> None:
    """Show the rate limits of the app that a session knows after some requests, and those documented.

    \b
    Examples:
      chatrest limits
      chatrest limits --requests 20

    Makes requests that list one user, at most until one is answered 429. It does not search for the limit.
    """
    client = session()
    replies, error = run(_ask(client, requests, None))
    if error is not None and not isinstance(error, RateLimitError):
        raise error
    asked = error and error.retry_after
    facts = [
        ("requests", f"{len(replies):,}, {sum(reply.status == 429 for reply in replies):,} answered 429"),
        ("wait", f"{duration(asked)}, as the service asks to" if asked else ""),
    ]
    for each in (state for pool in client.pools.values() for state in pool.limits):
        known = "no limit known" if each.limit is None else f"{_rate(each.limit)}, {each.source}"
        now = "" if each.rate is None else f"; a session now sends {_rate(each.rate)}"
        slot = f"; the next request may go in {each.next_slot:.1f} s" if each.next_slot and not asked else ""
        facts.append((each.rate_class, f"{known}{now}{slot}"))
    documented = ", ".join(f"{name} {_rate(rate)}" for name, rate in DOCUMENTED_RATES.items())
    streams.write_lines(streams.fact_lines([*facts, ("documented", documented)]))


def _rate(rate: float) -> str:
    return f"{rate:,.4g} a second ({rate * 60:,.0f} a minute)"
