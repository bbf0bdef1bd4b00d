"""A recheck of messages that were changed through the service's own operations."""

from pathlib import Path

from chatrest.emulator import Store
from chatrest.export import Plan, export
from chatrest.parameters.messages import MessageChanges
from tests.exporting import START, history_of, manifest_of, served

ALL = 10**9


def fill(store: Store) -> None:
    for uid in ("ann", "bob"):
        store.add_user(uid)
    for number in range(1, 31):
        store.add_message("ann", "bob", f"text {number}", sent_at=START + number)


async def test_edits_deletions_and_reactions_are_found(tmp_path: Path) -> None:
    async with served(fill_in=fill) as service:
        messages, out = service.session.messages, tmp_path / "out"
        await export(service.session, out, Plan(everything=True))
        older = service.expected([3, 4, 5])
        await messages.update("3", MessageChanges.text("better"), on_behalf_of="ann")
        await messages.delete("4", on_behalf_of="ann")
        await messages.add_reaction("5", "👍", on_behalf_of="bob")
        await messages.delete("6", permanent=True)
        report = await export(service.session, out, recheck=ALL)
        assert (report.changed, report.deleted, report.written) == (3, 1, 3)
        assert sorted(history_of(out)) == sorted(older)
        assert manifest_of(out).deleted == ["6"]
