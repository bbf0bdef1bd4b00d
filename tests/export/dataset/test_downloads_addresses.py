"""The links of messages, and the addresses that are allowed. No request is sent."""

import socket
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import ResolveResult

from chatrest.export.dataset.attachment_journal import (
    AttachmentJournal,
    FetchResult,
    Link,
    is_page,
    links_of,
    stored_name,
)
from chatrest.export.dataset.downloads import Downloader, DownloadError, address_fault, is_public
from chatrest.export.store.disk import Disk
from tests.support.cases import loop_over


def links(record: Any) -> list[tuple[str, int, str]]:
    return [link[:3] for link in links_of(record)]


def test_attachments_come_with_their_position() -> None:
    data = {"attachments": [{"url": "https://a"}, {"name": "no url"}, {"url": "https://b"}, "text"]}
    assert links({"id": "7", "category": "message", "data": data}) == [
        ("7", 0, "https://a"), ("7", 2, "https://b"),
    ]  # fmt: skip


@loop_over(
    ("record", "expected"),
    [
        ({"id": 7, "category": "message", "data": {"url": "https://a"}}, [("7", 0, "https://a")]),
        ({"id": "7", "category": "custom", "data": {"url": "https://a"}}, []),
        ({"id": "7", "data": {"attachments": {"url": "https://a"}}}, []),
        ({"id": "7", "data": [{"url": "https://a"}]}, []),
        ({"data": {"attachments": [{"url": "https://a"}]}}, []),
        ({"id": "7", "data": {"attachments": [{"url": 7.5}, {"url": ""}]}}, []),
    ],
)
def test_records_of_any_shape(record: Any, expected: Any) -> None:
    assert links(record) == expected


@loop_over(
    ("url", "fault"),
    [
        ("https://files.example.com/a?x=1#y", None),
        ("https://files.example.com:8443/ü", None),
        ("http://files.example.com/a", "https, and not http"),
        ("http://127.0.0.1/a", "https, and not http"),
        ("file:///etc/passwd", "not a URL"),
        ("ftp://files.example.com/a", "https, and not ftp"),
        ("data:text/plain,x", "not a URL"),
        ("//files.example.com/a", "https, and not"),
        ("https://user:pw@files.example.com/", "user or a password"),
        ("https://files.example.com\\@127.0.0.1/", "not a URL"),
        ("https://files.example.com:99999/", "not a URL"),
        ("https://[::1", "not a URL"),
        ("https://a b/", "not a URL"),
        ("https://localhost/", "not public"),
        ("https://10.0.0.1/", "not public"),
        ("https://169.254.169.254/latest", "not public"),
        ("https://[::1]/", "not public"),
        ("https://[::ffff:10.0.0.1]/", "not public"),
        ("https://100.64.0.1/", "not public"),
        ("https://224.0.0.1/", "not public"),
    ],
)
def test_addresses(url: str, fault: str | None) -> None:
    words = address_fault(url, local=False)
    assert words is None if fault is None else fault in str(words)


@loop_over(
    ("url", "is_allowed"),
    [
        ("http://127.0.0.1:1/a", True), ("http://localhost/a", True), ("https://10.0.0.1/a", True),
        ("http://10.0.0.1/a", False), ("http://files.example.com/a", False),
    ],
)  # fmt: skip
def test_addresses_of_a_local_service(url: str, is_allowed: bool) -> None:
    assert (address_fault(url, local=True) is None) == is_allowed


@pytest.mark.parametrize(
    "url", ["https://inside.example.com/", "https://\u246027.0.0.1/", "https://2130706433/"]
)
async def test_a_name_that_resolves_to_a_private_address_is_refused(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(_: object, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=each, port=port, family=family, proto=0, flags=0)
            for each in ("127.0.0.1", "192.168.1.1")
        ]

    monkeypatch.setattr("aiohttp.ThreadedResolver.resolve", resolve)
    async with Downloader(Disk(), max_bytes=10, local=False) as downloader:
        with pytest.raises(DownloadError, match="not public") as caught:
            await downloader.fetch(url, tmp_path / "file")
    assert caught.value.state == "refused"


async def test_a_name_without_an_address_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(*_: object) -> list[ResolveResult]:
        raise OSError("no such host")

    monkeypatch.setattr("aiohttp.ThreadedResolver.resolve", resolve)
    async with Downloader(Disk(), max_bytes=10, local=False) as downloader:
        with pytest.raises(DownloadError, match="the host name has no address") as caught:
            await downloader.fetch("https://files.example.com/", tmp_path / "file")
    assert (caught.value.state, caught.value.may_pass) == ("failed", True)


def test_public_addresses() -> None:
    assert is_public("93.184.215.14")
    assert is_public("2606:2800:21f:cb07:6820:80da:af6b:8b2c")
    assert is_public("files.example.com")
    assert not is_public("fe80::1%eth0")


@loop_over(
    ("host", "expected"),
    [
        ("::ffff:10.0.0.1", False), ("::ffff:93.184.215.14", True),
        ("64:ff9b::10.0.0.1", False), ("64:ff9b::93.184.215.14", True),
        ("64:ff9b:1::10.0.0.1", False), ("64:ff9b:1::93.184.215.14", False),
        ("2002:a9fe:a9fe::1", False), ("2002:5db8:d70e::1", True),
        ("::10.0.0.1", False), ("::169.254.169.254", False), ("::93.184.215.14", True),
        ("::ffff:0:10.0.0.1", False), ("::", False), ("::1", False),
        # Teredo: the server is 93.184.215.14, the client 10.0.0.1 with inverted bits
        ("2001:0:5db8:d70e::f5ff:fffe", False),
    ],
)  # fmt: skip
def test_an_ipv6_address_that_holds_one_of_ipv4_is_as_public_as_that(
    host: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The check does not depend on what a version of Python knows of these networks.
    monkeypatch.setattr(IPv6Address, "is_global", property(lambda self: int(self) > 1))
    assert is_public(host) is expected


@loop_over(
    "host",
    ["127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "localhost.", "LOCALHOST",
     "10.0.0.1.", "1.2.3.4.5", "0x", "127.0x0.1"],
)  # fmt: skip
def test_a_host_that_is_a_number_is_not_public(host: str) -> None:
    assert not is_public(host)
    assert address_fault(f"https://{host}/a", local=False) == "the address is not public"


@loop_over("host", ["1.example.com", "0x7f.example", "3com.com", "files.example.com."])
def test_a_name_with_digits_is_a_name(host: str) -> None:
    assert is_public(host)


@loop_over(
    ("extension", "url", "suffix"),
    [
        ("PNG", "https://a/x.jpg", ".png"), (None, "https://a/x.tar.gz?y=1", ".gz"),
        ("../x", "https://a/", ""), ("", "https://a/x.%2e%2e", ""), ("p\u00f6g", "https://a/b", ""),
    ],
)  # fmt: skip
def test_a_file_is_named_by_its_hash_and_a_harmless_extension(
    extension: str | None, url: str, suffix: str
) -> None:
    link = Link("1", 0, url, None, None, extension)
    assert stored_name("ab" * 32, link) == f"files/ab/{'ab' * 32}{suffix}"


@loop_over(
    ("mime_type", "extension", "may_be_page"),
    [(None, None, True), ("text/html", "png", True), ("image/png", "htm", True), ("image/png", None, False)],
)
def test_a_link_may_lead_to_a_page_if_no_type_is_stated(
    mime_type: str | None, extension: str | None, may_be_page: bool
) -> None:
    assert is_page(Link("1", 0, "https://a", None, mime_type, extension)) == may_be_page


def test_links_that_have_failed_come_last_and_each_link_once(tmp_path: Path) -> None:
    links = [Link(str(number), 0, f"https://a/{number}") for number in range(1, 5)]
    with AttachmentJournal(tmp_path / "journal") as journal:
        journal.add(links)
        journal.note(links[0], FetchResult("failed"), 1)
        journal.note(links[2], FetchResult("too_large", bytes=50), 1)
        order = []
        for link in journal.pending(max_bytes=50):
            order.append(link.message)
            journal.note(link, FetchResult("failed"), 2)
        assert [link.message for link in journal.pending(max_bytes=51)] == ["3", "1", "2", "4"]
    assert order == ["2", "4", "1"]
