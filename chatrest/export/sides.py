"""The sides of pairs: the messages of two users are in the list of either, on behalf of the other one.

A service that ignores the acting user shows, in both lists, what the owner of its login token has with the
user in the path. So one of the two lists may be that of the pair, if the owner is one of them, and the other
one is empty or not of the pair. The side that was found is kept in the journal for later runs.
"""

import json
from typing import Final, final

from .jobs import Job
from .journal import Journal
from .ownership import Source

OTHER_SIDES: Final = "other_sides"
"""In the journal's meta: the pairs whose messages are read from the list of the second of the two."""


@final
class Sides:
    """The sides from which the pairs of an export are read."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._others = {Source.parse(key) for key in json.loads(journal[OTHER_SIDES] or "[]")}
        self._changed: set[Source] = set()

    def choose(self, job: Job) -> None:
        """Let a job read the side that is known, and change it once a run."""
        job.is_other_side = job.source in self._others
        job.may_change_side = job.source.kind == "pair" and job.source not in self._changed

    def change(self, job: Job) -> None:
        """Let a pair be read from its other side from now on, in later runs too."""
        self._changed.add(job.source)
        self._others ^= {job.source}
        with self._journal.transaction():
            self._journal[OTHER_SIDES] = json.dumps(sorted(source.key for source in self._others))
        self.choose(job)
