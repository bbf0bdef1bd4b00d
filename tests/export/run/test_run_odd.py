"""Records that are odd, and ids that are no numbers: kept byte for byte, and once."""

from pathlib import Path

import pytest

from chatrest.emulator.store import Store
from chatrest.export import Plan, export
from tests.export_runs import assert_whole, fill_plain, served, to_user

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")


async def test_odd_records_are_kept_byte_for_byte(tmp_path: Path) -> None:
    odd = [
        b'{"id":"5","sender":"ann","receiver":"bob","receiverType":"user","sentAt":1600000000}',
        b'{ "id" : 6 , "sender":"ann","receiver":"bob","receiverType":"user"}',
        b'{"id":"seven","sender":"ann","receiver":"bob","receiverType":"user","sentAt":1600000000}',
        b'{"sender":"ann","receiver":"bob","receiverType":"user","sentAt":1600000000,"n":1}',
        b'{"sender":"ann","receiver":"bob","receiverType":"user","sentAt":1600000000,"n":2}',
        b'{"id":null,"sender":"bob","receiver":"ann","receiverType":"user","sentAt":"soon"}',
        b'{"id":"12","sender":"ann","receiver":"ann","receiverType":"user","sentAt":1.5e9}',
        b'{"id":"13","sender":"ann","receiver":"bob","receiverType":"user","sentAt":-7}',
        b'{"id":"14","sender":"ann","receiver":"bob","receiverType":"user","sentAt":"99999999999999999999"}',
        b'{"id":"15","sender":"ann","receiver":"bob","receiverType":"user","sentAt":1600000000123}',
        b'{"id":"16","sender":"ann","receiver":["bob"],"receiverType":"user"}',
        b'{"id":"17","sender":"ann","receiver":"bob","receiverType":"robot","category":"?"}',
        b'{"id":"18","sender":"ann","receiver":"bob","receiverType":"user","n":123456789012345678901234567890}',
        b'{"id":"19","sender":"ann","receiver":"bob","receiverType":"user","a":"\\u2028\xe2\x80\xa8\xc2\x85"}',
        b'{\n "id": "20",\r\n "sender": "ann", "receiver": "bob", "receiverType": "user"\r}',
        b'{"id":"21","id":"22","sender":"ann","receiver":"bob","receiverType":"user"}',
    ]

    def fill_in(store: Store) -> None:
        for uid in ("ann", "bob"):
            store.add_user(uid)
        store.add_records(odd)

    for count, partition in enumerate(("source", "month")):
        out = tmp_path / str(count)
        async with served(fill_in=fill_in) as service:
            report = await export(service.session, out, Plan(all_users=True, partition=partition))
            assert report.complete, report
            assert_whole(out, service.expected())
            assert (await export(service.session, out)).written == 0
            assert_whole(out, service.expected())


async def test_records_without_a_number_for_an_id_stand_once_though_many_lists_show_them(
    tmp_path: Path,
) -> None:
    def fill_in(store: Store) -> None:
        fill_plain(store, 60)
        store.add_records(to_user("ann", "bob", n, id=f"m{n}") for n in range(70, 76))
        store.add_records(to_user("bob", "ann", n) for n in range(80, 90))

    async with served(fill_in=fill_in) as service:
        plan = Plan(users=("ann", "bob"), pairs=(("ann", "bob"),))
        for added in range(3):
            assert (await export(service.session, tmp_path / "out", plan)).complete
            assert_whole(tmp_path / "out", service.expected())
            begin = 1000 * (added + 1)
            service.store.add_records(
                [
                    to_user("ann", "bob", begin),
                    to_user("ann", "bob", 0, id=f"x{added}"),
                    to_user("bob", "ann", begin + 50),
                ]
            )
