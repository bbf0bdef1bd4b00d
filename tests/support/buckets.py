"""Object stores in this process's memory, at addresses such as `s3://bucket/prefix`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from chatrest._cloud.address import import_obstore, parse_address
from chatrest._cloud.store import ObjectStore
from chatrest._cloud.transfer import file_sha256

ADDRESS: Final = "s3://bucket/chat"


def memory_store(address: str = ADDRESS, client: Any = None, **options: Any) -> ObjectStore:
    """Return a store in memory: an empty one, or that of a client which another store has."""
    import_obstore()
    from obstore.store import MemoryStore

    return ObjectStore(client or MemoryStore(), parse_address(address), **options)


async def write_over(store: ObjectStore, name: str, data: bytes) -> str:
    """Write an object, whatever is there, as any program may; return its e-tag."""
    import obstore

    return str((await obstore.put_async(store._client, name, data))["e_tag"])


async def send_file(store: ObjectStore, name: str, path: Path) -> None:
    """Write a file to a store as a publication does: with its hash."""
    await store.put_file(name, path, sha256=file_sha256(path))


class Buckets:
    """The stores of a test: what is opened twice at one address is one store."""

    def __init__(self) -> None:
        self._clients: dict[str, Any] = {}

    def open(self, address: str) -> ObjectStore:
        """Take the place of `ObjectStore.open`."""
        key = str(parse_address(address))
        store = memory_store(address, self._clients.get(key))
        self._clients[key] = store._client
        return store

    def names(self, address: str = ADDRESS, folder: str = "") -> list[str]:
        import obstore

        listed: Iterable[Any] = obstore.list(self.open(address)._client, folder or None).collect()
        return sorted(each["path"] for each in listed)

    def read(self, name: str, address: str = ADDRESS) -> bytes:
        import obstore

        return bytes(obstore.get(self.open(address)._client, name).bytes())

    def write(self, name: str, data: bytes, address: str = ADDRESS) -> None:
        import obstore

        obstore.put(self.open(address)._client, name, data)

    def delete(self, name: str, address: str = ADDRESS) -> None:
        import obstore

        obstore.delete(self.open(address)._client, name)
