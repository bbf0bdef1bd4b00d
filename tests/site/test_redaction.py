"""Hidden data stay hidden: on every page, in the search, in sources, documents and names of files."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import pytest

from chatrest import RequestInvalidError
from tests.support.stored_exports import StoredRuns

from .chats import HOSTILE, NAMES, Page, files, make_export, message, page_of, pages, person, shown_ids

pytest.importorskip("jinja2")

from chatrest._models.deleted_texts import without_deleted_texts
from chatrest.emulator.store import Store
from chatrest.site import write_document, write_site, write_zip
from chatrest.site.pseudonyms import Pseudonyms
from chatrest.site.redaction import Redaction, without_secrets
from tests.support.cases import loop_over

HIDDEN: Final = (
    "zz.leak+a@mail.example", "+49 170 7654321", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00",
    "CASE-4711", "Annegret Uhlmann", "<@uid:q7>",
)  # fmt: skip
ALL: Final = " / ".join(HIDDEN)
LEFT: Final = re.compile(
    rb"leak|mail\.example|7654321|1111|3704|0532|CASE-|4711|annegret|uhlmann|\bq7\b|\bzed\b|wskey|anna-pic",
    re.IGNORECASE,
)
"""Texts that must be in no file."""
SECRETS: Final = {"text": ALL, ALL: 1, "phone": 491707654321, "card": [4111111111111111], "id": "01707654321",
                  "json": json.dumps({"name": "Annegret Ühl", "mail": "zz.leak@mail.example"}),
                  "coded": "https://x.example/?m=zz.leak%40mail.example&t=%2B491707654321&n=Annegret%20Uhlmann",
                  "chinese": "电话01707654321吗", "case": "CASE-12"}  # fmt: skip


def hostile_records() -> list[dict[str, Any]]:
    """Return messages of all kinds that have secrets in each of their texts."""
    zed = {"entity": {"uid": "zed", "name": "Zed Uhlmann", "avatar": "https://x.example/anna-pic.png",
                      "metadata": SECRETS, "tags": [ALL]}, "entityType": "user"}  # fmt: skip
    channel = {"entity": {"wsChannel": {"identity": "me", "secret": "wskey"}, "status": ALL}}
    file = {"url": f"https://x.example/{ALL}", "name": f"{ALL}.png", "title": ALL, "size": 1}
    kinds: list[dict[str, Any]] = [
        {"data": {"text": ALL, "caption": ALL, "translations": [{"message_translated": ALL}]}},
        {"data": {"moderation": {"status": "flagged", "reason": ALL}, "mentions": {"q7": {"uid": "q7"}}}},
        {"type": "image", "data": {"attachments": [file], "url": file["url"]}, "tags": [ALL]},
        {"data": {"reactions": [{"reaction": ALL, "count": 2}]}, "editedAt": 9, "editedBy": "zed"},
        {"category": "action", "type": "groupMember", "data": {"action": "added", "entities": {
            "by": person("q7"), "on": zed, "for": {"entity": {"guid": "g", "name": ALL}}}}},
        {"category": "call", "type": "audio", "data": {"action": ALL, "entities": {"on": channel}}},
        {"category": "custom", "type": ALL, "data": {"customData": SECRETS}},
        {"category": "interactive", "type": "form", "data": {"interactiveData": {ALL: ALL, "x": SECRETS}}},
        {"category": ALL, "type": ALL},
        {"data": {"text": "x" * 5_000 + ALL}},
        {"deletedAt": 9, "deletedBy": "zed"},
        {"parentId": "1", "quotedMessage": message(1, ALL, "zed") | {"sender": "zed"}, "muid": ALL},
        {"sender": "0170-7654321"}, {"sender": "zz.leak@mail.example", "conversationId": ALL},
    ]  # fmt: skip
    records = [
        message(number, ALL, "q7", "annuhl" if number % 2 else "den", data=members.pop("data", {}))
        | {"metadata": SECRETS, "resource": ALL}
        | members
        for number, members in enumerate(kinds, 1)
    ]
    for each in records:
        each["data"]["metadata"] = SECRETS
    return records


def fill(store: Store) -> None:
    store.add_user("q7", "Annegret Uhlmann", metadata=SECRETS, link=ALL, statusMessage=ALL)
    store.add_user("annuhl", f"Zed {ALL}")
    for uid in ("q7", "annegret-2", "zz.leak@mail.example"):
        store.marks.add("reaction", 4, uid, value=ALL)


def everything(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files that are handed on, as they are, and as a browser or a script reads them."""
    for name, data in files(folder).items():
        yield name, name.encode()
        yield name, data
        yield name, re.sub(r"&#(\d+);", lambda each: chr(int(each[1])), data.decode()).encode()
        if name.endswith(".html"):
            page = Page(folder / name)
            yield name, page.text.encode()


@pytest.mark.parametrize("hiding", [{"redact": True}, {"pseudonyms": True}, {"patterns": ["x"]}])
def test_no_picture_of_a_person_is_named_where_anything_is_hidden(
    hiding: dict[str, Any], with_files: Path, tmp_path: Path
) -> None:
    write_site(with_files, tmp_path / "site", **hiding)
    write_document(with_files, tmp_path / "all.html", **hiding)
    assert [name for name, data in files(tmp_path).items() if b"/media/faces/" in data] == []


@pytest.mark.parametrize("twice", [False, True], ids=["new", "site that hid nothing"])
def test_hidden_values_are_in_no_published_file(tmp_path: Path, twice: bool) -> None:
    site, document = tmp_path / "site", tmp_path / "paper" / "case.html"
    document.parent.mkdir()
    out = make_export(tmp_path / "out", hostile_records(), fill)
    hiding: dict[str, Any] = {"redact": True, "pseudonyms": True, "patterns": [r"CASE-\w+"]}
    if twice:
        write_site(out, site)
        write_site(out, site, redact=True)
    result = write_site(out, site, **hiding)
    for name, data in everything(site):
        assert (name, LEFT.findall(data)) == (name, [])
    write_zip(site, tmp_path / "site.zip")
    with ZipFile(tmp_path / "site.zip") as packed:
        assert LEFT.findall("".join(packed.namelist()).encode()) == []
        assert [name for name in packed.namelist() if LEFT.search(packed.read(name))] == []
    written = write_document(out, document, **hiding)
    for name, data in everything(document.parent):
        without_hashes = re.sub(rb"[0-9a-f]{64}", b"", data)  # that of the manifest is another one each time
        assert (name, LEFT.findall(without_hashes)) == (name, [])
    assert sorted(shown_ids(site), key=int) == [str(number) for number in range(1, 15)]
    logged = Counter[str]()
    for row in csv.DictReader(io.StringIO((tmp_path / "site.chatrest" / "hidden.csv").read_text())):
        logged[row["kind"]] += int(row["count"])
        assert f'id="m{row["message"]}"' in (site / row["page"]).read_text()
    assert logged == result.hidden == written.hidden
    assert set(logged) == {"e-mail", "phone", "card", "IBAN", "own pattern", "name"}
    assert write_site(out, site, **hiding).hidden == result.hidden


def test_the_text_of_a_deleted_message_is_not_handed_on(tmp_path: Path) -> None:
    runs, secret = StoredRuns(tmp_path / "out"), "regretted words"
    gone, other = message(1, secret), message(2, "kept words")
    action = message(5, "", category="action", type="message", data={"action": "deleted", "entities": {
        "by": person("ann"), "on": {"entity": gone, "entityType": "message"}}})  # fmt: skip
    runs.run(list(map(encoded, [
        gone | {"deletedAt": 1_800_000_000, "deletedBy": "bob"}, other,
        message(3, "quotes the first", quotedMessage=gone),
        message(4, "another", quotedMessage=other), action,
    ])))  # fmt: skip
    write_site(runs.folder, tmp_path / "site")
    write_document(runs.folder, tmp_path / "one.html")
    assert secret not in (tmp_path / "one.html").read_text()
    assert [name for name, data in files(tmp_path / "site").items() if secret.encode() in data] == []
    [source] = [each for name, each in pages(tmp_path / "site").items() if name.endswith("-source.html")]
    assert source.text.count("[deleted: only the export has it]") == 3
    assert '"deletedBy": "bob"' in source.text or '"deletedBy":"bob"' in source.text
    assert source.text.count("kept words") == 2


def test_an_earlier_version_is_hidden_and_counted(tmp_path: Path) -> None:
    runs = StoredRuns(tmp_path / "out")
    runs.run([json.dumps(message(1, "call 0170 7654321 or me@mail.example")).encode()])
    runs.run(changed=[json.dumps(message(1, "other words", editedAt=1_800_000_000)).encode()])
    result = write_document(runs.folder, tmp_path / "one.html", redact=True)
    assert "call [phone] or [e-mail]" in Page(tmp_path / "one.html").text
    assert result.hidden == {"phone": 1, "e-mail": 1}
    assert (tmp_path / "one.html.hidden.csv").read_text().split() == [
        "page,message,kind,count", "1,1,e-mail,1", "1,1,phone,1",
    ]  # fmt: skip


def test_nothing_is_logged_of_a_site_that_hides_nothing(out: Path, tmp_path: Path) -> None:
    write_site(out, tmp_path / "site", redact=True)
    assert (tmp_path / "site.chatrest" / "hidden.csv").exists()
    assert write_site(out, tmp_path / "site").hidden == {}
    assert not (tmp_path / "site.chatrest" / "hidden.csv").exists()


@pytest.mark.parametrize("name", ["conversations", "users", "patterns"])
def test_a_text_in_the_place_of_a_list_is_refused(name: str, out: Path, tmp_path: Path) -> None:
    choice: Any = {name: "ann"}
    with pytest.raises(RequestInvalidError, match=rf"^{name} = 'ann': expected a list of texts$"):
        write_site(out, tmp_path / "other", **choice)


@pytest.mark.parametrize("pattern", ["(", "[a"])
def test_a_wrong_pattern_is_refused(pattern: str, out: Path, tmp_path: Path) -> None:
    with pytest.raises(RequestInvalidError, match=r"^patterns = '.*': .*; expected a regular expression$"):
        write_site(out, tmp_path / "other", patterns=[pattern])


def encoded(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode()


def redacted(text: str) -> str:
    return Redaction(redact=True).hide(text)


@loop_over(
    ("secret", "mark"),
    [(each, "phone") for each in (
        "+49 170 1234567", "(030) 123 456 78", "0170/1234567", "555-0123-456", "+1.202.555.0143",
        "٠١٢٣٤٥٦٧٨٩", "+49\u200b170\u20601234567", "%2B491701234567", "00491701234567", "8613800138000",
        "０９０－１２３４－５６７８", "0151\u2007123\u30004567", "0151\t123_4567", "0151,123,4567",
        "0151−1234567", "0151—1234567", "0151 \u2066123 4567", "0170\n1234567", "0170-\r\n1234567",
        "+49 170\n123 4567", "+1 202 555\n0143", "(030) 123\n45678")]
    + [(each, "e-mail") for each in (
        "ann.b+c@mail.example.org", "ünal@bücher.example", "o'hara@x.ie", "ann%40mail.example",
        "ann＠mail.example", "ann (at) mail.example", "ann[at]mail[dot]example",
        "bob＠example．com", "bob@example。com", "bob @ mail.example", "bob\u200b@ex\u00adample.com",
        "bob%2540example.com", "bob&#64;example.com", "anna@\nexample.com", "anna@example.\ncom",
        '"anna s"@example.com')]
    + [(each, "card") for each in (
        "4111111111111111", "4111 1111\n1111 1111", "4111 1111 1111 1111",
        "5500-0055-5555-5559", "4111_1111\u20071111\t1111",
        "378282246310005")]
    + [(each, "IBAN") for each in (
        "DE89370400440532013000", "de89 3704 0044 0532 0130 00", "GB29 NWBK 6016 1331 9268 19",
        "NO93-8601-1117-947", "DE89\u20073704−0044_0532 0130 00",
        "MT84MALT011000012345MTLCAST001S", "DE00120300000000202051")],
)  # fmt: skip
def test_personal_data_are_hidden(secret: str, mark: str) -> None:
    assert redacted(f"x {secret}.") == f"x [{mark}]."
    assert redacted(f"会（{secret}）会 and more 12") == f"会（[{mark}]）会 and more 12"


@loop_over(
    "text",
    ["at 12:30", "2026-11-22", "2026-11-22 12:30:15", "22.11.2026 12:30", "IMG_20261122.png",
     "1\n2\n3\n4\n5\n6\n7\n8", "12\n34\n56\n78", "at home.\nThen",
     "100 % of 12,345", "v1.2.3", "a@b", "meet @ noon", "meet @ 12.30", "a3f4567890123b", "50%20off",
     "2001\n2002\n2003", "Bill 100\n200\n300", "0100\n0200\n0300", "4111\n1111\n1111\n1111", "2001\r\n2002",
     "G1234567", "RE1234567", "Flat 012\n100 m"],
)  # fmt: skip
def test_other_texts_stay(text: str) -> None:
    assert redacted(text) == text


def test_a_number_is_hidden_beside_a_date_and_in_an_id() -> None:
    assert redacted("2026-11-22 0170 1234567") == "2026-11-22 [phone]"
    assert redacted("ann_user_+491701234567") == "ann_user_[phone]"
    assert redacted("Tel0151 1234567") == "Tel[phone]"
    assert redacted("T0170123456 Nr0170123456") == "T[phone] Nr[phone]"
    assert redacted("Room 123\n0170 1234567\n100 m") == "Room 123\n[phone]\n100 m"
    assert redacted("G4111111111111111 or Nr+491701234567") == "G[card] or Nr[phone]"
    assert redacted("0170 1234567\n0151 7654321") == "[phone]\n[phone]"
    assert redacted("mail ann@example.com.\nThen") == "mail [e-mail].\nThen"
    assert redacted("电话13800138000吗") == "电话[phone]吗"
    assert redacted("4111 1111 1111 1111 12/28") == "[card] 12/28"
    assert redacted(HOSTILE["secret"]) == "call [phone] or mail [e-mail]"


@loop_over(
    ("record", "expected"),
    [
        ({"metadata": {"n": 491511234567.0}}, {"metadata": {"n": "[phone]"}}),
        ({"metadata": {"time": 491511234567}}, {"metadata": {"time": "[phone]"}}),
        ({"customData": {"calledAt": 491511234567}}, {"customData": {"calledAt": "[phone]"}}),
        ({"0151 1234567": 1, "0152 1234567": 2}, {"[phone]": 1, "[phone] 2": 2}),
        *[(same, same) for same in ({"sentAt": 1_800_000_000}, {"latitude": 52.51631, "size": 12345678})],
    ],
)  # fmt: skip
def test_members_of_a_record_are_hidden(record: Any, expected: Any) -> None:
    assert json.loads(Redaction(redact=True).record(json.dumps(record).encode())) == expected


def pseudonyms(names: list[tuple[str, int, int]], app: str = "") -> Pseudonyms:
    return Pseudonyms((*each, app) for each in names)


def test_the_same_name_in_two_apps_is_two_persons() -> None:
    first_app = [("ann", 1, 0), ("Ann Moss", 1, 1), ("bob", 2, 0), ("Max", 1, 1), ("Max", 2, 1)]
    second_app = [("ann", 3, 0), ("Ann Moss", 3, 1), ("eve", 4, 0)]
    redaction = Redaction()
    redaction.set_names(
        Pseudonyms([(*each, "one") for each in first_app] + [(*each, "two") for each in second_app])
    )
    text = "ann, <@uid:ann>, Ann Moss, bob, Eve and Max"
    for app, expected in (
        ("one", "Person 1, @Person 1, Person 1, Person 2, Person 4 and [name]"),
        ("two", "Person 3, @Person 3, Person 3, Person 2, Person 4 and [name]"),
        ("three", "[name], @[name], [name], Person 2, Person 4 and [name]"),
    ):
        assert redaction.hide(text, app) == expected


def test_names_and_uids_of_people_are_hidden_in_texts() -> None:
    redaction = Redaction()
    redaction.set_names(pseudonyms([
        ("ann", 1, 0), ("Ann Smith", 1, 1), ("user-007", 2, 0), ("Bob Smith", 2, 1), ("7", 3, 0), ("8", 4, 0),
        ("İbrahim", 5, 1), ("José", 5, 1), ("李娜", 6, 1), ("王小明", 7, 1),
        ("Anna Müller", 8, 1), ("Straße Weiß", 9, 1),
        ("สมชาย ใจดี", 7, 1), ("김철수", 6, 1),
    ]))  # fmt: skip
    expected = {
        "ann": "Person 1", "7": "Person 3", "7 apples": "7 apples", "hi Ann!": "hi Person 1!",
        "ANN SMITH is here": "Person 1 is here", "mr Smith": "mr [name]", "planner": "planner",
        "ann_user_user-007": "Person 1_user_Person 2", "7_user_8": "Person 3_user_Person 4",
        "ask <@uid:user-007> or <@uid:7>, <@uid:no>": "ask @Person 2 or @Person 3, @[name]",
        "https://x.example/user-007.png": "https://x.example/Person 2.png", "user-0071": "user-0071",
        "a User": "a User", "a bob": "a bob", "Bob": "Person 2", "İ Ann": "İ Person 1",
        "Hallo İbrahim": "Hallo Person 5", "Jose\u0301!": "Person 5!",
        "李娜来了": "Person 6来了", "李四": "李四",
        "你好王小明吗": "你好Person 7吗", "STRASSE WEISS": "Person 9", "Weis": "Weis",
        "anna_müller": "Person 8",
        "Anna  Müller": "Person 8", "a\u200bnna\u00a0muller.": "Person 8.", "Ａｎｎａ 1": "Person 8 1",
        "สวัสดีสมชายครับ": "สวัสดีPerson 7ครับ", "김철수가": "Person 6가", "Annas": "Annas",
    }  # fmt: skip
    assert {text: redaction.hide(text) for text in expected} == expected
    redaction.counts.clear()
    assert (redaction.hide("7_user_8"), redaction.counts["name"]) == ("Person 3_user_Person 4", 2)


@loop_over(
    ("names", "expected"),
    [
        # who differ in case alone are different people
        ([("Bob", 1, 0), ("bob", 2, 0), ("Bob Moss", 1, 1), ("Rob Maier", 2, 1)],
         {"Bob": "Person 1", "bob": "Person 2", "BOB": "[name]", "<@uid:bob>": "@Person 2",
          "Bob_user_bob": "Person 1_user_Person 2", "hi bob": "hi [name]"}),
        # a name that is made of the words of pseudonyms, or is one
        ([("u1", 1, 0), ("u2", 2, 0), ("Lena Vogt", 1, 1), ("Eva Person", 2, 1)],
         {"Lena Vogt": "Person 1", "<@uid:u1>!": "@Person 1!", "hi Lena": "hi Person 1"}),
        ([("u1", 1, 0), ("u2", 2, 0), ("Person 2", 1, 1), ("Person 1", 2, 1)],
         {"u1": "Person 1", "Person 2": "Person 1", "said Person 1": "said Person 2"}),
        # two people of one name, and one called as the other one's uid
        ([("Max", 1, 1), ("Max", 2, 1), ("m1", 1, 0), ("m2", 2, 0), ("m1", 2, 1)],
         {"Max": "[name]", "Max said": "[name] said", "m1": "Person 1", "m2": "Person 2"}),
        # short names
        ([("Mo", 1, 1), ("Li", 2, 1), ("李", 3, 1), ("Ed de Wu", 4, 1), ("Anna Schmidt", 5, 1)],
         {"I am Mo": "I am Person 1", "Mo, I am Li": "Person 1, I am Person 2", "我是李": "我是Person 3",
          "Ed: hi": "Person 4: hi", "mo said": "mo said", "Most of it": "Most of it", "De la": "De la",
          "to Anna\u200bSchmidt": "to Person 5", "annaschmidt": "Person 5"}),
    ],
)  # fmt: skip
def test_a_pseudonym_is_of_one_person(names: list[tuple[str, int, int]], expected: dict[str, str]) -> None:
    redaction = Redaction()
    redaction.set_names(pseudonyms(names))
    assert {text: redaction.hide(text) for text in expected} == expected


def test_a_name_like_a_pseudonym_is_not_confused_with_one(tmp_path: Path) -> None:
    names = {"u1": "Person 3", "u2": "Person 1", "u3": "Eva Person", "Bob": "Bob Moss", "bob": "Rob Maier"}
    runs = StoredRuns(tmp_path / "out")
    records = [message(number, "hello", uid, "den") for number, uid in enumerate(names, 1)]
    for each in records:
        each["data"]["entities"]["sender"]["entity"]["name"] = names[each["sender"]]
    runs.run(list(map(encoded, records)))
    write_document(runs.folder, tmp_path / "one.html", pseudonyms=True)
    heads = re.findall(r"<article.*?</header>", (tmp_path / "one.html").read_text(), re.DOTALL)
    shown = [re.findall(r"<bdi>(.*?)</bdi>", head) for head in heads]
    assert shown == [[f"Person {number}"] * 2 for number in range(1, 6)]


def test_pseudonyms_are_those_of_all_names_that_somebody_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NAMES, "ann", "Annegret Uhl")
    monkeypatch.setitem(NAMES, "bob", "Robert Moss")
    monkeypatch.setitem(NAMES, "den", "Den of Moss")
    talk = [
        message(1, "Dear Annegret, Moss asks you"),
        message(2, "hi <@uid:ann>! Once Anne Kohl", "bob", "ann"),
        message(3, "more", receiver="den"),
    ]
    talk[0]["data"]["entities"]["sender"]["entity"]["name"] = "Anne Kohl"
    out, site = make_export(tmp_path / "out", talk), tmp_path / "site"
    write_site(out, site, pseudonyms=True)
    text = Page(site / page_of(site, "Dear")).text
    words = ["Dear Person 1, Person 2 asks you", "hi @Person 1! Once Person 1", "Person 1 & Person 2"]
    assert [each for each in words if each not in text] == []
    assert "Den of Person 2" in Page(site / "index.html").text
    assert write_site(out, site, pseudonyms=True).written == 0


@loop_over(
    "record",
    [r'{"ws\u0043hannel":{"secret":"abc"}}', r'{"wsChannel":{"s\u0065cret":"abc"}}',
     r'{"wsChannel":"{\"secret\":\"abc\"}"}', '{"wsChannel":{"secret":{"x":"abc"}}}'],
)  # fmt: skip
def test_the_secret_of_a_channel_is_hidden_in_any_spelling(record: str) -> None:
    assert b"abc" not in without_secrets(record.encode())
    assert b"[secret]" in without_secrets(record.encode())


@pytest.mark.parametrize("options", [{}, {"redact": True}, {"pseudonyms": True}], ids=str)
def test_the_secret_of_a_channel_is_on_no_page(tmp_path: Path, options: Any) -> None:
    calls = [message(number, "", category="call", type="audio") for number in (1, 2)]
    channel = {"identity": "me", "secret": "wschannel-key"}
    for call, each in zip(calls, (channel, json.dumps(channel)), strict=True):
        call["data"]["entities"]["on"] = {"entity": {"wsChannel": each}}
    runs = StoredRuns(tmp_path / "out")
    runs.run(list(map(encoded, calls)))
    write_site(runs.folder, tmp_path / "site", **options)
    write_document(runs.folder, tmp_path / "paper.html", **options)
    assert b"wschannel-key" not in (tmp_path / "paper.html").read_bytes()
    assert [name for name, data in files(tmp_path / "site").items() if b"wschannel-key" in data] == []


@loop_over(
    "record",
    ['{"lastReply":{"id":"2","deletedAt":5,"data":{"text":"gone"}}}',
     '{"quotedMessage":{"id":"2","text":"gone"}}', '{"x":{"id":"7","deletedAt":5,"text":"gone"}}',
     '{"lastReply":{"id":"2","sentAt":5,"text":"gone"}}',
     '{"data":{"lastMessage":{"id":"7","deletedAt":5,"category":"message","data":{"text":"gone"}}}}'],
)  # fmt: skip
def test_the_text_of_a_deleted_message_is_not_in_another_one(record: str) -> None:
    raw = b'{"id":"1","deleted":"gone"}'
    assert without_deleted_texts(raw, False, lambda _: True) == raw, "an own member of a message stays"
    text = without_deleted_texts(record.encode(), False, lambda key: key == "2")
    assert b"gone" not in text
    assert b'"id"' in text
    file = b'{"lastReply":{"file":{"id":"2","name":"gone"}}}'
    assert without_deleted_texts(file, False, lambda _: True) == file, (
        "another object with an id is no message"
    )
