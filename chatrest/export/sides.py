"""The sides of pairs: the messages of two users are in the list of either, on behalf of the other one.

A service that ignores the acting user shows, in both lists, what the owner of its login token has with the
user in the path. So one of the two lists may be that of the pair, if the owner is one of them, and the other
one is empty or not of the pair. The side that was found is kept in the journal for later runs.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

from ..walk.split.piece_reader import NotOrderedByIdError
from .jobs import Job
from .journal import Journal
from .ownership import Source

_OTHER_SIDES: Final = "other_sides"
"""In the journal's meta: the pairs whose messages are read from the list of the second of the two."""


@final
class Sides:
    """The sides from which the pairs of an export are read."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.others: set[Source] = {Source.parse(key) for key in json.loads(journal[_OTHER_SIDES] or "[]")}
        """The pairs that are read from their other side."""
        self._tried: set[Source] = set()

    def choose(self, job: Job) -> None:
        """Let a job read the side that is known; a pair may change it once a run."""
        job.is_other_side = job.source in self.others
        job.may_change_side = job.source.kind == "pair" and job.source not in self._tried

    @contextmanager
    def changed(self, job: Job) -> Iterator[None]:
        """Let a job read the other side within the block, and the next jobs too if it has shown something."""
        self._tried.add(job.source)
        job.is_other_side, job.may_change_side = not job.is_other_side, False
        try:
            yield
        except NotOrderedByIdError:  # the list is read again, by time, and on this side
            job.has_shown = True
            raise
        finally:
            if job.has_shown:
                self.others ^= {job.source}

    def save(self) -> None:
        """Keep the sides for later runs; within a transaction."""
        if self.others or self._journal[_OTHER_SIDES]:
            self._journal[_OTHER_SIDES] = json.dumps(sorted(source.key for source in self.others))
