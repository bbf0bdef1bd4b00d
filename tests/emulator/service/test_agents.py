"""Agents over the service: the form of their errors and replies, and how their lists are paged."""

from typing import Any

from tests.cases import loop_over
from tests.emulator.conftest import Asker

ONE = "/v3/ai-agents/agent-builder"
KNOWLEDGE = f"{ONE}/knowledge-base"
TOOL = {
    "slug": "s", "name": "S", "description": "d", "endpoint": "https://h", "method": "GET",
    "enableBasicAuth": False,
}  # fmt: skip


def test_an_error_stands_at_the_root_without_a_code(ask: Asker) -> None:
    answer = ask(f"{ONE}/agents/none")
    assert answer.status == 404
    assert answer.json == {
        "statusCode": 404, "message": "ERR_AGENT_NOT_FOUND: The agent none does not exist.",
        "error": "Not Found",
    }  # fmt: skip


@loop_over(
    ("method", "path", "body", "words"),
    [
        ("POST", "agents", {"name": "x" * 101}, "name"),
        ("POST", "agents", [], "object"),
        ("POST", "api-tools", {**TOOL, "enableBasicAuth": True}, "enable_basic_auth"),
        ("GET", "knowledge-base?cursor=%C3%A9", b"", "cursor"),
        ("GET", "knowledge-base?limit=101", b"", "limit"),
        ("PATCH", "knowledge-base/files/k/sync", b"", "sourceType"),
    ],
)
def test_what_is_wrong_is_refused_by_its_member(
    ask: Asker, method: str, path: str, body: Any, words: str
) -> None:
    path, _, query = path.partition("?")
    answer = ask(f"{ONE}/{path}", query, method=method, body=body)
    assert answer.status == 400
    assert answer.json.keys() == {"statusCode", "message", "error"}
    assert words in answer.json["message"]


def test_a_slug_is_taken_once(ask: Asker) -> None:
    assert ask.post(f"{ONE}/api-tools", TOOL).status == 200
    answer = ask.post(f"{ONE}/api-tools", TOOL)
    assert (answer.status, answer.json["message"]) == (400, "The slug has already been taken.")
    variable = {"name": "v", "sourceType": "constant", "constantValue": "c"}
    assert ask.post(f"{ONE}/agents/variables/custom", variable).status == 200
    assert ask.post(f"{ONE}/agents/variables/custom", variable).status == 400


def test_sources_are_found_by_the_time_of_their_creation(ask: Asker) -> None:
    now = (
        ask.post(f"{KNOWLEDGE}/text", {"title": "t", "text": "x"})
        and ask(KNOWLEDGE).json["data"][0]["createdAt"]
    )
    assert len(ask(KNOWLEDGE, f"startTime={now}&endTime={now}").json["data"]) == 1
    assert ask(KNOWLEDGE, f"startTime={now + 1}").json["data"] == []
    assert ask(KNOWLEDGE, f"endTime={now - 1}").json["data"] == []


def test_the_pages_of_a_source_come_one_by_one(ask: Asker) -> None:
    site = ask.post(f"{KNOWLEDGE}/website/scrape", {"url": "https://h", "maxPages": 3}).json["data"][
        "crawlId"
    ]
    ask.post(f"{KNOWLEDGE}/website/{site}/discovered-urls/process", {"exclude": []})
    page = ask(f"{KNOWLEDGE}/website/{site}/pages", "page=2").json
    assert [row["pageNumber"] for row in page["data"]] == [2]
    assert page["meta"]["pagination"]["total_pages"] == 3
    assert ask(f"{KNOWLEDGE}/text/{site}/pages").status == 404


def test_only_what_failed_is_read_again(ask: Asker) -> None:
    site = ask.post(f"{KNOWLEDGE}/website/scrape", {"url": "https://h", "maxPages": 2}).json["data"][
        "crawlId"
    ]
    urls = ask.store.documents.of("agents.discovered_urls", site)
    failed = urls.list()[0]["urlId"]
    urls.put(urls.list()[0] | {"status": "failed"}, failed)
    retried = ask(f"{KNOWLEDGE}/website/{site}/discovered-urls/sync", method="PATCH", body={"uniqueIds": []})
    assert retried.json["data"] == {"urlsRetried": 1}
    assert [(each["status"], each["retryCount"]) for each in urls.list()] == [
        ("processed", 1),
        ("discovered", 0),
    ]
