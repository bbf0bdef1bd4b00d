"""`doctor` and `limits`: if everything from here to the service is right, and how much that lets through."""

from collections.abc import Iterator
from typing import Any, Final

import click
import msgspec

from .._core.pace.pacer import DOCUMENTED_RATES
from .._core.replies.rate_signal import signal
from ..errors import ChatRestError, RateLimitError
from . import streams
from .doctor_checks import Check, examine, line_of
from .environment import session
from .options import AS_JSON, option_table, shown_default
from .process import run

_MINUTE: Final = 60


@click.command(short_help="Check settings, network, key and versions, and say what to do.")
@option_table(AS_JSON)
def doctor(as_json: bool) -> None:
    """Check everything between this machine and the service, one line per check, with what to do.

    Checks versions, settings, proxy, name, connection, certificate, the service's reply, the clock,
    the key and its scope, and the region. One request is made, which lists one user; where the key is
    refused, one more in each other region. Keys are hidden. Exit status: 0 no check has failed, 1 one has.

    \b
    Examples:
      chatrest doctor
      chatrest --app shop doctor --json | jq '.checks[] | select(.state == "failed")'
    """
    checks = run(_examine(is_shown=not as_json))
    failed = [check.name for check in checks if check.state == "failed"]
    if as_json:
        members = {"ok": not failed, "checks": [msgspec.structs.asdict(each) for each in checks]}
        streams.write(streams.without_keys(msgspec.json.encode(members).decode()).encode() + b"\n")
    if failed:
        raise ChatRestError(f"{len(failed)} of {len(checks)} checks failed: {', '.join(failed)}")


async def _examine(*, is_shown: bool) -> list[Check]:
    checks = []
    async for check in examine():
        checks.append(check)
        if is_shown:
            streams.write_lines([line_of(check)])
    return checks


# ── limits ──


@click.command(short_help="Show the rate limits that the service states or that a session learns.")
@option_table(
    ("--requests", click.IntRange(1, 100), "N", "Requests to make, one after another.", shown_default(1)),
    AS_JSON,
)
def limits(requests: int, as_json: bool) -> None:
    """Show the rate limits of the app: what replies state, what the session has learnt, what is documented.

    Makes requests that list one user, at most until one is answered 429, and shows what a session then knows.
    It does not search for the limit: all clients of the app share it.

    \b
    Examples:
      chatrest limits
      chatrest limits --requests 20 --json
    """
    facts = run(_ask(requests))
    streams.write_result(facts, _lines(facts), as_json=as_json)


async def _ask(requests: int) -> dict[str, Any]:
    from .._core.pace.retry import RetryPolicy
    from .._parameters.users import UserQuery

    replies: list[Any] = []
    async with session() as chat:
        # The first 429 says enough: no further request, and no wait.
        view = chat.with_options(on_reply=replies.append, retry=RetryPolicy(attempts=1))
        for _ in range(requests):
            try:
                await view.users.list(UserQuery(per_page=1)).page(1)
            except RateLimitError:
                break
        states = [
            {**msgspec.structs.asdict(each), "documented": DOCUMENTED_RATES.get(each.rate_class)}
            for pool in chat.pools.values()
            for each in pool.limits
        ]
    stated = signal(replies[-1].headers)
    return {
        "app": chat.app.app_id,
        "region": chat.app.region,
        "requests": len(replies),
        "limited": sum(reply.status == 429 for reply in replies),
        "stated": stated.limit,
        "remaining": stated.remaining,
        "limits": states,
        "documented": dict(DOCUMENTED_RATES),
    }


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    yield f"app        {facts['app']}, region {facts['region']}"
    yield f"requests   {facts['requests']:,}, {facts['limited']:,} answered 429"
    stated = "none" if facts["stated"] is None else f"{facts['stated']:,.0f} a window"
    left = "" if facts["remaining"] is None else f", {facts['remaining']:,.0f} of them left"
    yield f"stated     {stated}{left}"
    for each in facts["limits"]:
        known = "no limit known" if each["limit"] is None else f"{_rate(each['limit'])}, {each['source']}"
        now = "" if each["rate"] is None else f"; a session now sends {_rate(each['rate'])}"
        wait = f"; the next request may go in {each['next_slot']:.1f} s" if each["next_slot"] else ""
        yield f"{each['rate_class']:<10} {known}{now}{wait}"
    yield f"documented {', '.join(f'{name} {_rate(rate)}' for name, rate in facts['documented'].items())}"


def _rate(rate: float) -> str:
    return f"{rate:,.4g} a second ({rate * _MINUTE:,.0f} a minute)"
