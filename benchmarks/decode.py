"""Decoding a page into typed messages: chatrest against other decoders, and against itself on odd pages.

The emulator makes two pages: one with all kinds of messages, and one with calls only, which nest deepest.
Each is also decoded with numbers for ids, typed and as rows, and with a record that fits no type; the ratios
of these are to the time of chatrest for the same page as documented.
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
ODD_PAGES: Final[Mapping[str, tuple[str, Callable[[bytes], bytes]]]] = {
    "chatrest, number ids": (BASE, pages.with_number_ids),
    "chatrest, as rows, number ids": (ROWS, pages.with_number_ids),
    "chatrest, record by record": (BASE, pages.with_unknown_record),
}
"""Odd pages: the contestant that each is compared with, and the function that makes the page."""
_PASSES: Final = 5  # decodes in one measurement


def contestants(plain: type[Any]) -> dict[str, Decode]:
    """Return the decoders by name; `plain` is the type of the page as one class without a tag."""
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


def measure_all(served: bytes, plain: type[Any], rounds: int, messages: int) -> Times:
    """Return CPU seconds of all decoders for one page, and of chatrest for its odd variants."""
    decoders = contestants(plain)
    served = pages.with_text_ids(served)
    odd = {name: make(served) for name, (_, make) in ODD_PAGES.items()}
    decoders |= {name: decoders[base] for name, (base, _) in ODD_PAGES.items()}
    times: dict[str, list[float]] = {name: [] for name in decoders}
    for name, counts in turns(decoders, rounds):
        spent = _measure(decoders[name], odd.get(name, served), messages)
        if counts:
            times[name].append(spent)
    return times


def _measure(decode: Decode, page: bytes, messages: int) -> float:
    items = decode(page)  # not measured: the first decode after another contestant allocates its memory
    began = process_time()
    for _ in range(_PASSES):
        items = decode(page)
    spent = process_time() - began
    assert len(items) == messages
    return spent


def _rows(page_name: str, times: Times, messages: int) -> list[tuple[str, ...]]:
    each = {name: median(spent) * 1e6 / (_PASSES * messages) for name, spent in times.items()}
    bases = {name: base for name, (base, _) in ODD_PAGES.items()}
    return [
        (name, page_name, f"{cost:.2f}", f"{ratio(times, name, bases.get(name, BASE)):.2f}")
        for name, cost in each.items()
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = arguments(__doc__, rounds=15)
    parser.add_argument("--messages", type=count, default=1000, help="messages on a page (1000)")
    args = parser.parse_args(argv)
    size = args.messages
    served: Mapping[str, tuple[bytes, Any]] = {
        "mixed": (pages.mixed(size), hand.FlatPage),
        "calls": (pages.calls(size), hand.CallPage),
    }
    table_rows: list[tuple[str, ...]] = []
    for page_name, (page, plain) in served.items():
        table_rows += _rows(page_name, measure_all(page, plain, args.rounds, size), size)
    sizes = ", ".join(
        f"{page_name} {len(page) // size} bytes a message" for page_name, (page, _) in served.items()
    )
    print(
        title(
            f"Decoding a page of {size} messages ({sizes})",
            f"CPU time per message, medians of {args.rounds} rounds; ratios are to {BASE}, "
            "of the odd pages to the same page as documented",
            "msgspec",
            "pydantic",
        )
    )
    print(table(("decoder", "page", "µs a message", "ratio"), table_rows))


if __name__ == "__main__":
    main()
