"""Pages state of which export they are, and name nothing that is hidden."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chatrest.export import Plan

from .chats import START, Page, make_export, message

pytest.importorskip("jinja2")

from chatrest.site import facts, index_build, write_site, writer

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_the_index_and_the_footer_state_the_export_its_period_and_the_times(tmp_path: Path) -> None:
    made, site = [message(1, "one"), message(9, "two")], tmp_path / "site"
    out = make_export(tmp_path / "backup", made, until=START + 9_000)
    write_site(out, site, now=lambda: NOON)
    index = Page(site / "index.html").text
    assert (
        "App: emulated · Export of: the app's own list of messages, until=2026-01-01T02:30:00Z"
        " · Period: 2026-01-01 00:10:00 +00:00 to 2026-01-01 01:30:00 +00:00 · Exported: 20"
    ) in index
    assert " · Pages made: 2026-05-01 12:00:00 +00:00\n" in index
    assert b'["Pages made","2026-05-01 12:00:00 +00:00"]' in (site / "about.js").read_bytes()
    assert "<h1><bdi>backup</bdi></h1>" in (site / "index.html").read_text()


def test_the_time_of_the_pages_stays_until_one_changes(tmp_path: Path) -> None:
    out, site = make_export(tmp_path / "out", [message(1, "one")]), tmp_path / "site"
    write_site(out, site, now=lambda: NOON)
    before = {path: path.read_bytes() for path in site.rglob("*.*")}
    assert write_site(out, site, now=lambda: NOON.replace(hour=13)).written == 0
    assert {path: path.read_bytes() for path in site.rglob("*.*")} == before
    write_site(out, site, now=lambda: NOON.replace(hour=14), title="Another")
    assert "Pages made: 2026-05-01 14:00:00" in Page(site / "index.html").text


@pytest.mark.parametrize("hiding", [{"pseudonyms": True}, {"redact": True}])
def test_hidden_apps_sources_and_ids_are_shown_as_counts(
    hiding: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(users=["bob", "zoe"], groups=["den"], since="2026-01-01")
    export = SimpleNamespace(plan_value=plan, app="zoe-app", last_run=None)
    monkeypatch.setattr(facts, "facts_of", lambda out: export)
    write_site(
        make_export(tmp_path / "zoe-backup", [message(1, "one")]), tmp_path / "site", users=["bob", "zoe"],
        **hiding,
    )  # fmt: skip
    index, script = (tmp_path / "site" / name for name in ("index.html", "about.js"))
    assert "Export of: 1 group; 2 users, since=2026-01-01" in Page(index).text
    assert "Selected: 2 users" in Page(index).text
    assert "<h1><bdi>Messages</bdi></h1>" in index.read_text()
    assert "zoe" not in index.read_text() + script.read_text()


@pytest.mark.parametrize("part", [{"users": ["bob"]}, {"conversations": ["ann_user_bob"]}, {"until": START}])
def test_a_part_of_an_export_does_not_name_other_sources_and_apps(
    part: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = SimpleNamespace(plan_value=Plan(users=["bob", "zoe"], groups=["den"]), app="a, b", last_run=None)
    monkeypatch.setattr(facts, "facts_of", lambda out: export)
    write_site(make_export(tmp_path / "out", [message(0, "one")]), tmp_path / "site", **part)
    text = Page(tmp_path / "site" / "index.html").text
    assert "Export of: 1 group; 2 users · " in text
    assert "App: " not in text


def test_a_plan_without_names_is_shown_in_full_where_anything_is_hidden() -> None:
    for plan in (Plan(everything=True, since="2026-01-01"), Plan(all_users=True)):
        assert facts._plan_words(plan, hides=True) == plan.full_words


def test_an_export_is_named_by_its_folder_or_address(tmp_path: Path) -> None:
    outs = (tmp_path / "backup", tmp_path / "app=shop", "s3://bucket/chat/")
    assert [facts.export_name(out) for out in outs] == ["backup", "shop", "chat"]


def test_pages_of_another_version_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, site = make_export(tmp_path / "out", [message(1, "secret")]), tmp_path / "site"
    write_site(out, site)
    [page] = site.glob("c/*/1.html")
    page.write_bytes(page.read_bytes().replace(b"secret", b"leaked"))
    write_site(out, site)
    assert "leaked" in Page(page).text
    for module in (index_build, writer):
        monkeypatch.setattr(module, "code_hash", lambda: "another version")
    write_site(out, site)
    assert "leaked" not in Page(page).text


def test_the_rules_of_deleted_texts_are_part_of_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    names, read = set[str](), Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: (names.add(path.name), read(path))[1])
    index_build.code_hash.__wrapped__()
    assert {"deleted_texts.py", "redaction.py", "pseudonyms.py", "articles.py", "site.js"} < names
