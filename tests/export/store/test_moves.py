from pathlib import Path

import pytest

from tests.sealing import *

FORMAT_NAMES = list(FORMATS)

@pytest.mark.parametrize("partition", list(PARTITIONS))
@pytest.mark.parametrize("format", FORMAT_NAMES)
def test_what_is_committed_is_sealed_read_and_stands_once(folder: Path, format: str, partition: str) -> None:
    with opened(folder, format) as store:
        for source, first in ((1, 1), (2, 60), (1, 101), (2, 150)):
            store.commit(page(format, partition, source, list(range(first, first + 70))))
        assert store.commit(page(format, partition, 3, [5, 400, 500])) == 2
        assert len(texts_of(store)) == 221
        store.seal_all()
        assert len(texts_of(store)) == 221
        assert [f.kind for f in store.inspect(deep=True)] == []
        assert len(texts_on_disk(folder)) == 221
        store.update(changes({5: "x", 400: "y", 9999: "z"}))
        assert [f for f in store.inspect(deep=True)] == []
        on_disk = dict(texts_on_disk(folder))
        assert (on_disk["5"], on_disk["400"], len(on_disk)) == ("x", "y", 221)
        store.seal_all()
        if format != "sqlite":
            assert texts_of(store, "history") == {"5": "hello", "400": "hello"}
        store.commit(page(format, partition, 1, [600, 601]))
        store.seal_all()
        store.compact()
        assert [f for f in store.inspect(deep=True)] == []
        assert len(texts_on_disk(folder)) == 223
        assert len([p for p in (folder/"spool").iterdir()]) == 0
    assert repaired(folder, format) == [] or {f.kind for f in repaired(folder, format)} <= {"leftover"}
    assert len(texts_on_disk(folder)) == 223
