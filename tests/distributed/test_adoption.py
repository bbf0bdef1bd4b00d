"""Attempts are adopted in any order, twice, overlapping, and with crashes between: the sum is the same."""

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from chatrest.distributed.attempt_place import AttemptFolder
from chatrest.distributed.shard import Budget, OpenJob, Shard, ShardSource, write_job
from chatrest.distributed.shard_reader import read_shard
from chatrest.export import Plan
from chatrest.export.folder.adoption import ShardAttempt, adopt
from chatrest.export.folder.export_folder import ExportFolder
from chatrest.export.folder.manifest import write_unfinished
from chatrest.export.plan.id_set import NAMES, IdSet
from chatrest.export.plan.intervals import Gap, merge
from chatrest.export.store.fragments import FragmentLostError
from chatrest.export.store.segments import fragment_path
from tests.dying import DyingDisk, Fate, ProcessDeath
from tests.exporting import raws_of, served, small_pages as small_pages

pytestmark = pytest.mark.usefixtures("small_pages")

PLANS: dict[str, dict[str, Any]] = {
    "ndjson": {"compress": "gzip", "partition": "month"},
    "parquet": {"format": "parquet", "partition": "source"},
}
COUNT = 7


class Attempts(NamedTuple):
    """Attempts at the lists of two users, who have seen messages that nobody claims."""

    plan: Plan
    attempts: list[ShardAttempt]
    folder: Path
    """Of their files."""
    rows: list[Counter[bytes]]
    """The records of each."""


@pytest.fixture(params=PLANS)
async def attempts(request: pytest.FixtureRequest, tmp_path: Path, small_pages: None) -> Attempts:
    plan = Plan(users=("ann", "bob"), **PLANS[request.param])
    place = AttemptFolder(tmp_path)
    dice = Random(5)
    async with served(160) as service:
        write_job(place, "job-1", service.session.app.app_id, plan, enumerate(plan.sources, 1))
        with place.job_file("job-1") as path:
            job = OpenJob(path)
        made = []
        for number in range(COUNT):
            gaps = [Gap(0, 160)] if number < 2 else [Gap(low := dice.randrange(120), low + 40)]
            owners = [1, 2] if number % 3 == 0 else [1 + number % 2]
            sources = [ShardSource(owner, gaps) for owner in owners]
            shard = Shard(number, "job-1", 160, sources, Budget(40, 60.0), 2)
            made.append((await read_shard(shard, job, service.session, place)).attempt)
    attempts = [attempt for attempt in made if attempt is not None]
    assert {path.suffix for path in (tmp_path / "spool").iterdir()} == {".fragment", ".new"}
    return Attempts(plan, attempts, tmp_path, [rows_of(plan, each, tmp_path) for each in attempts])


def rows_of(plan: Plan, attempt: ShardAttempt, folder: Path) -> Counter[bytes]:
    """Return the records of an attempt: those of an export that holds nothing else."""
    with TemporaryDirectory() as alone:
        with opened(Path(alone), plan) as archive:
            lay_out(attempt, folder, Path(alone))
            adopt(archive, attempt)
        return Counter(raws_of(Path(alone)))


def opened(out: Path, plan: Plan, **options: Any) -> ExportFolder:
    archive = ExportFolder(out, plan, app_id="emulated", **options)
    archive.before_change = lambda: write_unfinished(out, archive.disk, archive.journal, 0, "it is written")
    with archive.journal.transaction():
        archive.journal.add_sources(plan.sources)
    return archive


def lay_out(attempt: ShardAttempt, folder: Path, out: Path) -> None:
    """Put the files of an attempt where a worker leaves them."""
    (out / "spool").mkdir(exist_ok=True)
    for file in attempt.files:
        shutil.copy(fragment_path(folder, file.name), out / "spool")


@pytest.fixture
def folders() -> Iterator[Iterator[Path]]:
    with TemporaryDirectory() as folder:
        yield (Path(folder, str(number)) for number in range(1_000_000))


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.lists(st.integers(0, COUNT - 1), min_size=1, max_size=6),
    crashes=st.lists(st.integers(1, 30), max_size=3),
)
def test_any_order_twice_and_with_crashes(
    attempts: Attempts, folders: Iterator[Path], order: list[int], crashes: list[int]
) -> None:
    out = next(folders)
    out.mkdir()
    instants = iter(crashes)
    done = set[int]()
    while done != set(order):
        fate = Fate(out, next(instants, 1_000_000))
        try:
            with opened(out, attempts.plan, disk=DyingDisk(fate)) as archive:
                for number in order:
                    lay_out(attempts.attempts[number], attempts.folder, out)
                    is_again = number in done
                    written = adopt(archive, attempts.attempts[number]).written
                    assert not (is_again and written)
                    done.add(number)
                archive.finish()
        except ProcessDeath:
            done = set()  # it is not known how far it has come, so all are adopted again
            fate.rise()
            out.mkdir(exist_ok=True)
    expected = Counter(raw for number in order for raw in attempts.rows[number])
    assert Counter(raws_of(out)) == Counter(set(expected))
    assert not list((out / "spool").glob("*"))
    with opened(out, attempts.plan) as archive:
        for number in (1, 2):
            own = [each for at in order for each in attempts.attempts[at].sources if each.number == number]
            seen = IdSet.union(each.seen for each in own)
            others = {key for each in own for key in each.other_ids}
            assert archive.journal.seen(number).between(1, NAMES - 1) == seen
            assert len(archive.journal.seen(number)) == len(seen) + len(others)
            covered = merge(interval for each in own for interval in each.intervals)
            assert [each[:2] for each in archive.journal.intervals(number)] == [each[:2] for each in covered]


def test_an_attempt_whose_files_are_gone_is_lost_as_a_whole(attempts: Attempts, tmp_path: Path) -> None:
    out, attempt = tmp_path / "out", attempts.attempts[0]
    last = fragment_path(out, attempt.files[-1].name)
    with opened(out, attempts.plan) as archive:
        lay_out(attempt, attempts.folder, out)
        last.write_bytes(last.read_bytes()[:-1])
        with pytest.raises(FragmentLostError, match=r"\.fragment is not there, or not as it was written"):
            adopt(archive, attempt)
        assert not archive.store.written
        assert not archive.journal.seen()
        assert not archive.journal.intervals(1)
        lay_out(attempt, attempts.folder, out)
        assert adopt(archive, attempt).written == attempts.rows[0].total()


def test_an_adoption_renames_and_writes_nothing(attempts: Attempts, tmp_path: Path) -> None:
    out, attempt = tmp_path / "out", attempts.attempts[0]
    fate = Fate(out, 1_000_000)
    with opened(out, attempts.plan, disk=DyingDisk(fate)) as archive:
        lay_out(attempt, attempts.folder, out)
        archive.before_change = lambda: None
        fate.asked.clear()
        assert adopt(archive, attempt).written == attempts.rows[0].total()
        calls = Counter(fate.asked)
        assert calls["write"] == 0
        assert calls["replace"] == calls["remove"] == len(attempt.files)
        assert not archive.findings
    assert Counter(raws_of(out)) == attempts.rows[0]


def test_fragments_that_nobody_tells_of_are_adopted_and_their_lists_are_read_again(
    attempts: Attempts, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with opened(out, attempts.plan) as archive:
        lay_out(attempts.attempts[0], attempts.folder, out)
        (out / "spool" / "chatrest-killed.new" / "spool").mkdir(parents=True)
        assert archive.adopt_fragments() == attempts.rows[0].total()
        assert archive.adopt_fragments() == 0
        assert not archive.journal.intervals(1)
        assert not [*(out / "spool").glob("*.fragment"), *(out / "spool").glob("*.new")]
    assert Counter(raws_of(out)) == attempts.rows[0]
    lay_out(attempts.attempts[1], attempts.folder, out)
    with opened(out, attempts.plan) as archive:
        assert {finding.kind for finding in archive.findings} == {"unknown"}
    assert Counter(raws_of(out)) == Counter({*attempts.rows[0], *attempts.rows[1]})
