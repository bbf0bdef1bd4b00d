"""The journal of a recheck: its position, and the changed and deleted messages."""

import json

from chatrest._core.replies.rows import Row
from chatrest.export.folder.journal import Journal
from chatrest.export.plan.id_set import IdSet
from chatrest.export.plan.message_ids import ids_of


def test_a_recheck_goes_on_where_it_was_until_it_is_done(journal: Journal) -> None:
    journal.recheck(1, 100, 50)
    journal.recheck(2, 100, 50)
    journal.rechecked(1, 30, (("id", "30"),))
    journal.recheck(1, 999, 999)
    assert journal.rechecks() == {1: (100, 30, 50, (("id", "30"),)), 2: (100, 0, 50, ())}
    journal.rechecked(1, 50, ())
    assert [number for number, recheck in journal.rechecks().items() if recheck.is_done] == [1]
    journal.show(1, IdSet([7, 8]))
    journal.show(2, IdSet([9]))
    journal.recheck(1, 999, 999)
    assert journal.rechecks()[1] == (999, 0, 999, ())
    assert list(journal.shown()) == [9], "what the source showed before is not of this recheck"
    journal.end_rechecks()
    assert not journal.rechecks()
    assert not journal.shown()


def test_changed_messages_wait_with_their_newest_bytes_until_they_are_applied(journal: Journal) -> None:
    def row(id: str, text: str) -> Row:
        return Row(id, line=json.dumps({"id": id, "text": text}).encode())

    journal.change([row("7", "old"), row("m-1", "x")])
    journal.change([row("7", "new"), row("9", "y")])
    waiting = [bytes(each.raw) for each in journal.waiting()]
    assert waiting == [bytes(each.raw) for each in (row("m-1", "x"), row("7", "new"), row("9", "y"))]
    assert len(journal.waiting(2)) == 2
    journal.applied(["m-1", "7", "nobody"])
    assert [bytes(each.raw) for each in journal.waiting()] == [bytes(row("9", "y").raw)]


def test_deleted_ids_are_told_once_and_in_order(journal: Journal) -> None:
    journal.mark_deleted(1, [9, 2**63 - 2, 7], 1000)
    journal.mark_deleted(2, [7, 8], 2000)
    journal.mark_deleted(2, [], 3000)
    name = next(iter(journal.numbered(ids_of([Row("m-1")])).names))
    journal.mark_deleted(2, [5, name], 4000, missing=True)
    assert [(each.id, each.missing) for each in journal.deleted()] == [
        ("m-1", True), ("5", True), ("7", False), ("8", False), ("9", False), (str(2**63 - 2), False),
    ]  # fmt: skip
    journal.undelete([7, name])
    assert [each.id for each in journal.deleted()] == ["5", "8", "9", str(2**63 - 2)]
