"""A pool by itself: it reads the pieces that it is given into an archive, and asks for nothing else."""

from pathlib import Path

import pytest

from chatrest.core.paging.intervals import Gap
from chatrest.export import Plan
from chatrest.export.archive import Archive
from chatrest.export.jobs import ListJob
from chatrest.export.ownership import OwnershipRules, Source
from chatrest.export.worker_pool import WorkerPool
from tests.exporting import ids_of
from tests.small_service import SmallService, talk

pytestmark = pytest.mark.usefixtures("tidy")


async def test_pieces_of_a_list_are_read_into_an_archive(tmp_path: Path) -> None:
    service = SmallService(talk(200))
    sources = [Source("user", ("ann",)), Source("user", ("nobody",))]
    async with service.session() as session:
        with Archive(tmp_path / "out", Plan(users=["ann", "nobody"]), app_id="app-1") as archive:
            with archive.journal.transaction():
                archive.journal.add_sources(sources)
            ann, nobody = archive.journal.sources()
            pool = WorkerPool(session, archive, OwnershipRules(sources), workers=2)
            job = ListJob(number=ann.number, source=ann.source, until=200)
            await pool.read([pool.piece(job, gap) for gap in (Gap(20, 60), Gap(100, 120))])
            covered = [(each.first, each.last) for each in archive.journal.intervals(ann.number)]
            assert (covered, pool.ended, pool.stats.written) == ([(21, 60), (101, 120)], set(), 60)
            await pool.read([pool.piece(job, Gap(120, 200))])
            assert (pool.ended, pool.failed) == ({ann.number}, {})
            assert not archive.journal.intervals(nobody.number)
            assert not archive.missing()
            archive.finish()
    assert ids_of(tmp_path / "out") == [str(number) for number in (*range(21, 61), *range(101, 201))]
