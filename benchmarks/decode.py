"""A page's bytes into typed messages: chatrest against other decoders, and against itself on odd pages.

Two pages, as the emulator makes them: all kinds of messages, and calls alone, which nest deepest. Each
also with numbers for ids, typed and as rows, and with a record that no type holds; those ratios are to what
chatrest takes for the same page as documented.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import process_time
from typing import Any, Final, TypeAlias

import msgspec

from chatrest.core.decode import many
from chatrest.core.rows import rows
from chatrest.models.message import Message

from . import hand, pages, pydantic_models
from .measure import Times, arguments, count, ratio, table, title, turns

Decode: TypeAlias = Callable[[bytes], Sequence[Any]]

BASE: Final = "chatrest"
ROWS: Final = "chatrest, as rows"
TWINS: Final[Mapping[str, tuple[str, Callable[[bytes], bytes]]]] = {
    "chatrest, number ids": (BASE, pages.with_number_ids),
    "chatrest, as rows, number ids": (ROWS, pages.with_number_ids),
    "chatrest, record by record": (BASE, pages.with_a_stranger),
}
"""Odd pages: whom each is compared with, and how the page is made."""
_PASSES: Final = 5  # decodes in one turn


def contestants(plain: type[Any]) -> dict[str, Decode]:
    """Who decodes the page that was served; `plain` is the page as one class without a tag."""
    chatrest: Callable[[bytes], Any] = many(Message)
    untagged = msgspec.json.Decoder(plain)
    tagged: msgspec.json.Decoder[Any] = msgspec.json.Decoder(hand.TaggedPage)
    return {
        BASE: lambda page: chatrest(page).items,
        ROWS: lambda page: rows(page).items,
        "msgspec, untagged structs": lambda page: untagged.decode(page).data,
        "msgspec, tagged structs": lambda page: tagged.decode(page).data,
        "msgspec, dicts": lambda page: msgspec.json.decode(page)["data"],
        "stdlib json, dicts": lambda page: json.loads(page)["data"],
        "pydantic models": lambda page: pydantic_models.Page.model_validate_json(page).data,
    }


def measured(served: bytes, plain: type[Any], rounds: int, messages: int) -> Times:
    """CPU seconds of everyone's turns over one page, and of chatrest's over its odd twins."""
    everyone = contestants(plain)
    served = pages.with_text_ids(served)
    odd = {name: make(served) for name, (_, make) in TWINS.items()}
    everyone |= {name: everyone[base] for name, (base, _) in TWINS.items()}
    times: dict[str, list[float]] = {name: [] for name in everyone}
    for name, counts in turns(everyone, rounds):
        spent = _turn(everyone[name], odd.get(name, served), messages)
        if counts:
            times[name].append(spent)
    return times


def _turn(decode: Decode, page: bytes, messages: int) -> float:
    found = decode(page)  # not counted: the first one after another's turn has to find its memory anew
    began = process_time()
    for _ in range(_PASSES):
        found = decode(page)
    spent = process_time() - began
    assert len(found) == messages
    return spent


def _lines(told: str, times: Times, messages: int) -> list[tuple[str, ...]]:
    each = {name: median(spent) * 1e6 / (_PASSES * messages) for name, spent in times.items()}
    bases = {name: base for name, (base, _) in TWINS.items()}
    return [
        (name, told, f"{cost:.2f}", f"{ratio(times, name, bases.get(name, BASE)):.2f}")
        for name, cost in each.items()
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = arguments(__doc__, rounds=15)
    parser.add_argument("--messages", type=count, default=1000, help="messages on a page (1000)")
    asked = parser.parse_args(argv)
    size = asked.messages
    served: Mapping[str, tuple[bytes, Any]] = {
        "mixed": (pages.mixed(size), hand.FlatPage),
        "calls": (pages.calls(size), hand.CallPage),
    }
    lines: list[tuple[str, ...]] = []
    for told, (page, plain) in served.items():
        lines += _lines(told, measured(page, plain, asked.rounds, size), size)
    sizes = ", ".join(f"{told} {len(page) // size} bytes a message" for told, (page, _) in served.items())
    print(
        title(
            f"Decoding a page of {size} messages ({sizes})",
            f"CPU time per message, medians of {asked.rounds} rounds; ratios are to {BASE}, "
            "of the odd pages to the same page as documented",
            "msgspec",
            "pydantic",
        )
    )
    print(table(("decoder", "page", "µs a message", "ratio"), lines))


if __name__ == "__main__":
    main()
