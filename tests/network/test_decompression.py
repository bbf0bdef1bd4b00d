"""Decompression: in any pieces, cut off anywhere, garbled, and far larger than it looks."""

import gzip
import random
import signal
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from chatrest._network.decompression import Decompressor
from chatrest.errors import ReplyUnreadableError
from tests.support.cases import loop_over

MIB = 1 << 20


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    """An unpacking without an end fails its own test, and holds up no other.

    The seconds are those of the processor: a busy machine does not count.
    """

    def over(*_: object) -> None:
        raise AssertionError("it does not come to an end")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, 2)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


Pack = Callable[[bytes], bytes]
PACKERS: dict[str, tuple[str, Pack]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": (" X-GZip ", gzip.compress),
    "stored": ("gzip", lambda data: gzip.compress(data, 0)),
    "members": (
        "gzip",
        lambda data: b"".join(gzip.compress(data[at : at + 7]) for at in range(0, len(data), 7)),
    ),
    "padded": ("gzip", lambda data: gzip.compress(data) + bytes(512)),
}
some_data = st.binary(max_size=60) | st.sampled_from([b"a" * 300, b'{"data":[]}' * 99])


def unpack(encoding: str, packed: bytes, cuts: list[int] | None = None) -> bytes:
    decompressor = Decompressor(encoding)
    edges = [0, *sorted({cut for cut in cuts or () if cut < len(packed)}), len(packed)]
    out = b""
    for start, end in pairwise(edges):
        out += b"".join(decompressor.steps(packed[start:end]))
    decompressor.finish()
    return out


@pytest.mark.parametrize("name", PACKERS)
@given(data=some_data.filter(bool), cuts=st.lists(st.integers(2, 700), max_size=30))
def test_a_packed_body_is_unpacked_from_any_pieces(name: str, data: bytes, cuts: list[int]) -> None:
    encoding, pack = PACKERS[name]
    assert unpack(encoding, pack(data), cuts) == data


@pytest.mark.parametrize("name", ["gzip", "stored", "padded"])
@pytest.mark.parametrize("size", [MIB - 1, MIB, MIB + 1, MIB + 10, MIB + 258, 2 * MIB, 3 * MIB + 77])
@pytest.mark.parametrize("kind", ["zeros", "text"])
def test_a_body_larger_than_a_step_is_unpacked_completely(kind: str, size: int, name: str) -> None:
    data = bytes(size) if kind == "zeros" else (b'{"id":"123","text":"hello"},' * (size // 28 + 1))[:size]
    encoding, pack = PACKERS[name]
    packed = pack(data)
    assert unpack(encoding, packed) == data
    assert unpack(encoding, packed, [len(packed) // 2, len(packed) - 1]) == data


@pytest.mark.parametrize("name", ["gzip", "stored"])
@settings(max_examples=40, deadline=None, database=None)
@given(data=some_data, part=st.floats(0, 1, exclude_max=True), cuts=st.lists(st.integers(2, 400), max_size=5))
def test_a_stream_cut_off_anywhere_is_unreadable(
    name: str, data: bytes, part: float, cuts: list[int]
) -> None:
    encoding, pack = PACKERS[name]
    packed = pack(data)
    with pytest.raises(ReplyUnreadableError, match="cut off"):
        unpack(encoding, packed[: int(part * len(packed))], cuts)


@given(packed=st.binary(max_size=200), cuts=st.lists(st.integers(1, 200), max_size=5))
def test_garbage_is_unreadable_and_nothing_else_is_raised(packed: bytes, cuts: list[int]) -> None:
    with pytest.raises(ReplyUnreadableError):
        unpack("gzip", packed, cuts)


@pytest.mark.parametrize("name", ["gzip", "stored"])
def test_a_flipped_bit_is_never_taken_for_the_data(name: str) -> None:
    encoding, pack = PACKERS[name]
    data = b'{"data":[1,2,3]}'
    packed = pack(data)
    for at in range(len(packed)):
        for bit in (1, 16, 128):
            garbled = packed[:at] + bytes([packed[at] ^ bit]) + packed[at + 1 :]
            with suppress(ReplyUnreadableError):
                assert unpack(encoding, garbled) == data  # a bit of the header's time, or such


@loop_over("encoding", ["deflate", "br", "zstd", "", "gzip, gzip", "identity;q=0", "gzipped", "compress"])
def test_an_unknown_encoding_is_refused_and_the_known_one_is_named(encoding: str) -> None:
    with pytest.raises(ReplyUnreadableError, match="is not gzip"):
        Decompressor(encoding)


def test_a_bomb_is_unpacked_in_steps_of_a_mebibyte() -> None:
    bomb = gzip.compress(bytes(32 * MIB))
    tracemalloc.start()
    try:
        sizes = [len(block) for block in Decompressor("gzip").steps(bomb)]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (sum(sizes), max(sizes)) == (32 * MIB, MIB)
    assert peak <= 4 * MIB


@loop_over("tail", [bytes(4 * MIB), random.Random(1).randbytes(4 * MIB)])
def test_bytes_after_the_end_are_discarded(tail: bytes) -> None:
    tracemalloc.start()
    try:
        decompressor = Decompressor("gzip")
        assert b"".join(decompressor.steps(gzip.compress(b"abc"))) == b"abc"
        for at in range(0, len(tail), 1 << 16):
            assert not any(decompressor.steps(tail[at : at + (1 << 16)]))
        bytes_held = tracemalloc.get_traced_memory()[0]
    except ReplyUnreadableError:
        assert tail[:1] != b"\0"
        return
    finally:
        tracemalloc.stop()
    assert bytes_held < MIB
