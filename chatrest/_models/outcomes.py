"""Acknowledgements, and the outcomes of several items in one reply."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Generic, TypeVar

from msgspec import UNSET

from ..errors import ApiError
from .record import Json, Maybe, Record

T = TypeVar("T")

_SHOWN: Final = 5
_MAX_REASON: Final = 100


class Ack(Record, omit_defaults=False):
    """An acknowledgement: `success`, the service's `message`, and what the call was about, if it is sent."""

    success: bool = True
    message: Maybe[str] = UNSET
    conversation_id: Maybe[str] = UNSET
    message_id: Maybe[str] = UNSET
    read_at: Maybe[int] = UNSET
    delivered_at: Maybe[int] = UNSET
    uid: Maybe[str] = UNSET
    guid: Maybe[str] = UNSET


class Outcomes(Mapping[str, T], Generic[T]):
    """The outcome of each item of a batch by the item's key, in the service's order.

    A 200 means that the batch was read, not that every item succeeded: `check()` raises if one failed.
    """

    __slots__ = ("_by_key", "_operation", "raw", "repairs")

    def __init__(
        self, by_key: Mapping[str, T], raw: bytes = b"", operation: str = "", repairs: tuple[str, ...] = ()
    ) -> None:
        self._by_key = dict(by_key)
        self._operation = operation
        self.raw: bytes = raw
        """The reply's body, byte for byte as served."""
        self.repairs: tuple[str, ...] = repairs
        """The values that did not have their documented type, as in a `Page`: `data.bob.data.uid: …`."""

    def __getitem__(self, key: str) -> T:
        return self._by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def __repr__(self) -> str:
        return f"<Outcomes: {len(self.succeeded)} succeeded, {len(self.failed)} failed>"

    @property
    def succeeded(self) -> dict[str, T]:
        """The outcomes with `success=True`."""
        return {key: outcome for key, outcome in self._by_key.items() if _is_success(outcome)}

    @property
    def failed(self) -> dict[str, T]:
        """All other outcomes."""
        return {key: outcome for key, outcome in self._by_key.items() if not _is_success(outcome)}

    def check(self) -> "Outcomes[T]":
        """Return the outcomes if all items succeeded.

        Raises `ApiError` otherwise, with the failed outcomes by key in its `details`.
        """
        if failed := self.failed:
            shown = ", ".join(_failure_text(*item) for item in list(failed.items())[:_SHOWN])
            more = ", …" if len(failed) > _SHOWN else ""
            text = f"{len(failed)} of {len(self)} items failed: {shown}{more}"
            prefix = f"{self._operation}: " if self._operation else ""
            raise ApiError(
                f"{prefix}{text}", status=200, message=text, details=failed, operation=self._operation
            )
        return self


def _is_success(outcome: Any) -> bool:
    return getattr(outcome, "success", None) is True


def _failure_text(key: str, outcome: Any) -> str:
    """An item that failed, with the service's code or words where it gave any."""
    error = getattr(outcome, "error", None)
    code = error.get("code") if isinstance(error, dict) else None
    reason = code if isinstance(code, str) else getattr(outcome, "message", None)
    return f"{key} ({reason[:_MAX_REASON]})" if isinstance(reason, str) and reason else key


class ItemOutcome(Record, omit_defaults=False):
    """The outcome of one item, with its record in `data`. One without `success` is a failure."""

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[Any] = UNSET
    error: Maybe[Any] = UNSET


class ItemAck(ItemOutcome):
    """The outcome of one uid, feature or permission. One without `success` is a failure."""

    data: Maybe[Json] = UNSET
