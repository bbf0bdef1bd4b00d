"""The files that generated messages link to."""

import json

from aiohttp import ClientSession

from chatrest.emulator import Emulator
from chatrest.emulator.media import MEDIA, MEDIA_SIZES, media_file


def test_each_kind_of_file_has_its_size_and_its_own_bytes() -> None:
    for _, content_type, extension in MEDIA:
        first, second = (
            media_file(f"/media/{name}.{extension}") for name in ("000000000001", "999999999999")
        )
        assert first is not None
        assert second is not None
        assert first.content_type == content_type
        assert first.body != second.body
        assert len(first.body) == len(second.body) == MEDIA_SIZES[extension]


def test_other_paths_have_no_file() -> None:
    paths = ("/media/1.png", "/media/000000000001.exe", "/v3/000000000001.png", "/media/../000000000001.png")
    assert [media_file(path) for path in paths] == [None] * 4


async def test_attachments_are_served_with_type_and_length() -> None:
    async with Emulator(3, 100) as emulator, ClientSession() as http:
        records = [json.loads(record) for record in emulator.store.records(emulator.store.ids())]
        attachments = [each for record in records for each in record["data"].get("attachments", ())]
        assert attachments
        for attachment in attachments:
            assert attachment["url"].startswith(f"http://127.0.0.1:{emulator.port}/media/")
            async with http.get(attachment["url"]) as response:
                body = await response.read()
            assert response.content_type == attachment["mimeType"]
            assert response.content_length == len(body) == attachment["size"]
        people = emulator.store.people
        faces = {user["avatar"] for user in people.users.values()}
        entities = [each["data"]["entities"] for each in records]
        assert {each["sender"]["entity"]["avatar"] for each in entities if "sender" in each} == faces
        faces.add(people.groups["group-01"]["icon"])
        bodies = []
        for url in faces:
            async with http.get(url) as response:
                assert response.content_type == "image/png"
                bodies.append(await response.read())
        assert len(set(bodies)) == 4
        async with http.get(f"http://127.0.0.1:{emulator.port}/media/none") as response:
            assert response.status == 404
