"""Decoding a page into typed messages: chatrest against other decoders, and against itself on odd pages.

The emulator makes two pages: one with all kinds of messages, and one with calls only, which nest deepest.
Each is also decoded with numbers for ids, typed and as rows, and with a record that fits no type; these are
compared with the time of chatrest for the same page as documented.
"""

import json
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from time import process_time
from typing import Any, Final, TypeAlias

import msgspec

from chatrest._core.replies.decode import many
from chatrest._core.replies.rows import rows
from chatrest._models.messages import Message

from . import hand, pages, pydantic_models
from .comparison import Comparison, Goal
from .measure import Benchmark, Size, Times, compare_times, turns

Decode: TypeAlias = Callable[[bytes], Sequence[Any]]

BASE: Final = "chatrest"
ROWS: Final = "chatrest, as rows"
ODD_PAGES: Final[Mapping[str, tuple[str, Callable[[bytes], bytes]]]] = {
    "chatrest, number ids": (BASE, pages.with_number_ids),
    "chatrest, as rows, number ids": (ROWS, pages.with_number_ids),
    "chatrest, record by record": (BASE, pages.with_unknown_record),
}
"""Odd pages: the contestant that each is compared with, and the function that makes the page."""
ODD_GOALS: Final = dict.fromkeys(list(ODD_PAGES)[:2], Goal(1.5))
"""The largest allowed ratios for pages with numbers for ids."""
_UNIT: Final = "CPU µs a message"
_PASSES: Final = 5  # decodes in one measurement


def contestants() -> dict[str, Decode]:
    """Return the decoders by name."""
    chatrest: Callable[[bytes], Any] = many(Message)
    tagged: msgspec.json.Decoder[Any] = msgspec.json.Decoder(hand.TaggedPage)
    return {
        BASE: lambda page: chatrest(page).items,
        ROWS: lambda page: rows(page).items,
        "msgspec, tagged structs": lambda page: tagged.decode(page).data,
        "msgspec, dicts": lambda page: msgspec.json.decode(page)["data"],
        "stdlib json, dicts": lambda page: json.loads(page)["data"],
        "pydantic models": lambda page: pydantic_models.Page.model_validate_json(page).data,
    }


def measure_all(served: bytes, rounds: int, messages: int) -> Times:
    """Return CPU seconds of all decoders for one page, and of chatrest for its odd variants."""
    decoders = contestants()
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


def _compare(page: str, times: Times, messages: int) -> list[Comparison]:
    bases = {name: base for name, (base, _) in ODD_PAGES.items()}
    scale = 1e6 / (_PASSES * messages)
    against_others = [
        compare_times(
            times, BASE, name, case=f"a page of {page}", against=name, unit=_UNIT, scale=scale,
        )
        for name in times
        if name != BASE and name not in bases
    ]  # fmt: skip
    against_itself = [
        compare_times(
            times, name, base, case=f"a page of {page}: {name}", against=f"{base}, as documented",
            unit=_UNIT, scale=scale, goal=ODD_GOALS.get(name),
        )
        for name, base in bases.items()
    ]  # fmt: skip
    return against_others + against_itself


def measure(sizes: Namespace) -> list[Comparison]:
    """Return the comparisons for both pages."""
    size = sizes.messages
    served = {"all kinds": pages.mixed(size), "calls": pages.calls(size)}
    comparisons: list[Comparison] = []
    for name, page in served.items():
        comparisons += _compare(name, measure_all(page, sizes.rounds, size), size)
    return comparisons


BENCHMARK: Final = Benchmark(
    "Decoding a page of {messages} messages",
    "CPU time per message, medians of {rounds} rounds",
    {"rounds": Size("counted rounds", 15, 15), "messages": Size("messages on a page", 1000, 1000)},
    ("msgspec", "pydantic"),
    measure,
)
compare, main = BENCHMARK.compare, BENCHMARK.main

if __name__ == "__main__":
    main()
