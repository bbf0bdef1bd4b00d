"""Lists of a small service in no order of ids, and edits that move their messages."""

from random import Random

from tests.support.small_service import START, Record, SmallService, talk


def move_edited(service: SmallService) -> None:
    """Let lists go by the time of the last change, and continue after a message."""

    def page(records: list[Record], query: dict[str, str], size: int) -> Record:
        affix = query.get("affix", "prepend")
        ordered = sorted(
            records,
            key=lambda record: (record.get("updatedAt", record["sentAt"]), int(record["id"])),
            reverse=affix == "prepend",
        )
        ids = [record["id"] for record in ordered]
        begin = ids.index(query["id"]) + 1 if query.get("id") in ids else 0
        data = ordered[begin : begin + size]
        numbers = {"total": len(records), "count": len(data), "per_page": size, "current_page": 1}
        end = data[-1]["id"] if data else query.get("id", "0")
        return {"data": data, "meta": {"pagination": numbers, "cursor": {"id": int(end), "affix": affix}}}

    service.page = page  # type: ignore[method-assign]


def show_newest_first(service: SmallService) -> None:
    """Let lists begin with the newest messages, for any query."""
    original = service.page

    def page(records: list[Record], query: dict[str, str], size: int) -> Record:
        reply = original(records, query | {"affix": "prepend"}, size)
        return reply | {"data": reply["data"][::-1]}

    service.page = page  # type: ignore[method-assign]


def edit(service: SmallService, index: int) -> None:
    changed = {"updatedAt": START + 100_000 + index, "data": {"text": "edited"}}
    service.records[index] = service.records[index] | changed


def shuffled(count: int, near: int) -> list[Record]:
    """Messages whose ids are not in the order of their times: each is at most `near` places away."""
    dice = Random(7)
    places = sorted(range(count), key=lambda place: place + dice.uniform(0, near))
    records = talk(count)
    for place, record in zip(places, records, strict=True):
        record["sentAt"] = START + place * 10
    return records
