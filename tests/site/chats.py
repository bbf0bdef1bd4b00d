"""An export with all that a page must cope with, and what is in the pages of a site."""

import asyncio
import json
import re
from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

from chatrest.emulator.media import PHRASES
from chatrest.emulator.store import Store
from chatrest.export import Plan, export
from chatrest.site import write_site
from tests.support.export_runs import served

START: Final = 1_767_225_600
"""2026-01-01."""
STEP: Final = 600
LONG: Final = 600
"""Messages between ann and bob."""
_RUN_TIME: Final = re.compile(rb"(Exported|Pages made).{0,12}\d{4}-[\d-]+ [\d:]+ \+[\d:]+")
HOSTILE: Final = {
    "script": "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">",
    "address": "javascript:document.title='owned' data:text/html,x https://ok.example/?a=1&b=%22%3E<b>. end",
    "bidi": "harmless \u202egpj.exe\u2066 tail",
    "zero": "before\x00after",
    "emoji": "\U0001f642" * 5_000,
    "huge": "word " * 5_000 + "needle",
    "template": "{{ 7 * 7 }} {% raw %} ${7*7}",
    "close": "</p></article></main></body></html><!-- ]]> --> \u2028 &lt;b&gt;",
    "secret": "call +49 170 1234567 or mail ann@example.com",
}
PARENT: Final = LONG + len(HOSTILE)
"""The position of "the parent" in `records`."""
NAMES: Final = {
    "ann": "Ann <b>",
    "bob": "Bob \u202ebob",
    "eve/..": "Eve\"'><script>",
    "den": "The den & more",
    "dana": "דנה כהן",
}


def person(uid: str) -> dict[str, Any]:
    return {"entity": {"uid": uid, "name": NAMES.get(uid, uid)}, "entityType": "user"}


def message(
    number: int, text: str, sender: str = "ann", receiver: str = "bob", **members: Any
) -> dict[str, Any]:
    is_group = receiver == "den"
    group = {"entity": {"guid": "den", "name": NAMES["den"]}, "entityType": "group"}
    record = {
        "id": str(number),
        "conversationId": "group_den" if is_group else "_user_".join(sorted((sender, receiver))),
        "sender": sender,
        "receiverType": "group" if is_group else "user",
        "receiver": receiver,
        "category": "message",
        "type": "text",
        "data": {
            "text": text,
            "entities": {"sender": person(sender), "receiver": group if is_group else person(receiver)},
        },
        "sentAt": START + number * STEP,
        "updatedAt": START + number * STEP,
    }
    data = members.pop("data", {})
    return record | members | {"data": record["data"] | data}


def records() -> list[dict[str, Any]]:
    made = [
        message(n, f"{PHRASES[n % len(PHRASES)]} no{n}", *(("ann", "bob") if n % 3 else ("bob", "ann")))
        for n in range(1, LONG + 1)
    ]
    number = LONG
    for text in HOSTILE.values():
        number += 1
        made.append(message(number, text, "eve/..", "den"))
    at = number + 1
    den: list[dict[str, Any]] = [
        {"text": "the parent", "data": {"reactions": [{"reaction": "👍", "count": 3}]}},
        {"text": "a reply", "parentId": str(at), "sender": "bob"},
        {"text": "another reply", "parentId": str(at)},
        {"text": "quoting", "quotedMessage": message(at, "the parent", receiver="den")},
        {"text": "was edited", "editedAt": START + 5_000, "editedBy": "bob"},
        {"text": "was deleted secretly", "deletedAt": START + 6_000, "deletedBy": "ann"},
        {"text": "quotes the deleted",
         "quotedMessage": message(at + 5, "was deleted secretly", receiver="den")},
        {"text": "hello <@uid:ann> and <@uid:nobody>"},
        {"text": "", "category": "action", "type": "groupMember", "data": {
            "action": "added", "entities": {"by": person("ann"), "on": person("bob")}}},
        {"text": "", "category": "call", "type": "audio", "data": {"action": "initiated"}},
        {"text": "", "category": "custom", "type": "poll", "data": {"customData": {"question": "Pizzatag?"}}},
        {"text": "a riddle", "category": "riddle"},
        {"text": "linked", "type": "image", "data": {"attachments": [
            {"url": "javascript:document.title='owned'", "name": "x.png", "size": "7"}]}},
        {"text": "unusual", "sentAt": "soon", "sender": 7},
    ]  # fmt: skip
    made += [message(at + position, receiver="den", **each) for position, each in enumerate(den)]
    return made


def searched_records() -> list[dict[str, Any]]:
    """Return messages that differ for a search by accents, by the middles of words, and by what they are."""
    file = {"url": "https://x.example/a.pdf", "name": "Vertrag.pdf", "size": 7}
    talk: list[dict[str, Any]] = [
        {"text": "hasta mañana"}, {"text": "manana with no tilde"}, {"text": "der Stromausfall, AUSFALL"},
        {"text": "it was edited", "editedAt": START, "editedBy": "bob"},
        {"text": "it was deleted", "deletedAt": START, "deletedBy": "ann"},
        {"text": "it is flagged", "data": {"moderation": {"status": "disapproved"}}},
        {"text": "it passed", "data": {"moderation": {"status": "approved"}}},
        {"text": "it has a file", "type": "file", "data": {"attachments": [file]}},
        {"text": "it is answered"}, {"text": "it answers", "parentId": "9"},
        {"text": "الكِتَابُ"}, {"text": "ﾃｽﾄです", "editedAt": START, "editedBy": "bob", "flaggedCount": 1},
        {"text": "mañana in the den", "receiver": "den"}, {"text": "the last of the den", "receiver": "den"},
        {"text": f"Donaudampfschifffahrtsgesellschaftskapitän {'q' * 60}tailpart", "sender": "bob"},
        {"text": "Zażółć 한국어 Ærø"},
        {"text": "", "category": "interactive", "type": "form", "data": {
            "interactiveData": {"title": "Formtitle"}}},
        {"text": "", "category": "riddle", "type": "x", "data": {"riddle": {"answer": "riddleextra"}}},
        {"text": "", "category": "action", "type": "groupMember", "data": {"action": "kicked"}},
        {"text": ""},
    ]  # fmt: skip
    return [message(number, **each) for number, each in enumerate(talk, 1)]


SEARCHES: Final = {
    "q=manana": "2 1 13", "q=mañana": "13 1 2", "q=ausfall": "3", "q=usfal": "3", "q=us": "", "q=كتاب": "11",
    "q=テスト": "12", "is=edited": "12 4", "is=deleted": "5", "is=flagged": "12 6", "is=file": "8",
    "is=thread": "10 9", "is=edited&is=flagged": "12", "q=it&is=thread": "10 9", "q=nowhere": "",
    "q=it&conversation=den": "", "q=vertrag": "8",
    "q=kapitan": "15", "q=tailpart": "15", "q=zazolc": "16", "q=aero": "16", "q=국어": "16",
    "q=formtitle": "17", "q=riddleextra": "18", "q=removed": "19", "person==bob": "15",
    "person==ann&conversation=den": "14 13", "person==nn": "",
}  # fmt: skip
"""The ids that a search finds, the best first."""


def fill(store: Store, made: Iterable[dict[str, Any]]) -> None:
    for uid in ("ann", "bob", "eve/.."):
        store.add_user(uid, NAMES[uid])
    store.add_group("den", NAMES["den"])
    store.add_records(json.dumps(each).encode() for each in made)


def make_export(
    out: Path,
    made: list[dict[str, Any]],
    more: Callable[[Store], None] = lambda _: None,
    tables: Iterable[str] = (),
    **options: Any,
) -> Path:
    """Export a service with these messages; `more` may add to its store."""

    async def run() -> None:
        def fill_in(store: Store) -> None:
            fill(store, made)
            more(store)

        async with served(fill_in=fill_in) as service:
            plan = Plan(everything=True, **options)
            (
                await export(service.session, out, plan, tables=["users", "groups", "reactions", *tables])
            ).check()

    asyncio.run(run())
    return out


def make_site(
    folder: Path, made: list[dict[str, Any]], more: Callable[[Store], None] = lambda _: None
) -> Path:
    write_site(make_export(folder / "out", made, more), folder / "site")
    return folder / "site"


class Page(HTMLParser):
    """The elements and texts of a page, as a parser of HTML reads them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, name: str) -> list[str]:
        return [value or "" for _, attributes in self.tags if (value := attributes.get(name)) is not None]


def pages(site: Path) -> dict[str, Page]:
    return {path.relative_to(site).as_posix(): Page(path) for path in sorted(site.rglob("*.html"))}


def page_of(site: Path, words: str) -> str:
    """Return the page of a conversation that shows these words."""
    named = [name for name, page in pages(site).items() if words in page.text]
    [name] = [name for name in named if re.fullmatch(r"c/\w+/\d+\.html", name)]
    return name


def shown_ids(site: Path) -> list[str]:
    return [each for page in pages(site).values() for each in page.values("data-id")]


def files(site: Path) -> dict[str, bytes]:
    """Return all files that a site hands on, without the times of a run."""
    every = (path for path in site.rglob("*") if path.is_file())
    return {path.relative_to(site).as_posix(): without_run_times(path.read_bytes()) for path in every}


def without_run_times(data: bytes) -> bytes:
    """Return a file without the times at which its messages were exported and its page was made."""
    return _RUN_TIME.sub(rb"\1", data)


def grep(made: list[dict[str, Any]], words: str) -> set[str]:
    """Return the ids of messages whose text has these words; where a word begins for fewer than 3 letters."""
    begin = "" if re.match(r"\w{3}", words) else r"(?<!\w)"
    spaced = re.compile(f"{begin}{re.escape(words)}", re.IGNORECASE)
    dense = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u4e00-\u9fff\U0001f000-\U0001faff]").match(words)
    return {
        str(each["id"])
        for each in made
        if not each.get("deletedAt")
        and (words in each["data"]["text"] if dense else spaced.search(each["data"]["text"]))
    }
