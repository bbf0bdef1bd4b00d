"""What has come of a run: for whoever called it, for the summary, and for the manifest."""

from typing import final

from msgspec import Struct


class Failure(Struct, frozen=True):
    """A source that is not whole."""

    source: str
    error: str


@final
class Report(Struct, kw_only=True):
    """One run of an export."""

    complete: bool = False
    """Whether the export holds all that its plan asks for, up to the frozen end; `gone` users can be asked
    for no more, and are no reason against it."""
    reasons: list[str] = []
    """Why it is not, a sentence each; the sources that failed are not repeated here."""
    until: int | None = None
    """The newest id when the run began: no message behind it is in the export. None where it is not known."""
    messages: int = 0
    """In the export."""
    written: int = 0
    """Of these, by this run."""
    changed: int = 0
    """Messages whose newer version has taken the place of an older one, which is kept."""
    vanished: int = 0
    """Messages of this run's recheck that the service does not show any more; they are kept."""
    lost: int = 0
    """Messages that were in a file that is lost, and that the service does not show any more."""
    sources: int = 0
    failed: list[Failure] = []
    gone: list[str] = []
    """Users that were listed once, and are not there any more: their messages are kept."""
    requests: int = 0
    started: int = 0
    finished: int = 0
    """Epoch seconds."""
