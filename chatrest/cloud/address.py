"""Addresses of object stores: `s3://bucket/prefix`, `gs://…`, `az://…` and `file:///folder`. Pure."""

from typing import Final, Literal, NamedTuple, TypeAlias, get_args
from urllib.parse import unquote

from ..errors import RequestInvalidError

Scheme: TypeAlias = Literal["s3", "gs", "az", "file"]
SCHEMES: Final[tuple[Scheme, ...]] = get_args(Scheme)
_ALLOWED: Final = "s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or file:///folder"
_BUCKET_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")


class StoreAddress(NamedTuple):
    """The place of a store; an address holds no credentials."""

    scheme: Scheme
    bucket: str
    """The bucket or container; empty for `file`."""
    prefix: str
    """The path in the bucket, without slashes at its ends; for `file`, the absolute path of the folder."""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}{self.prefix and '/'}{self.prefix.removeprefix('/')}"


def is_address(text: str) -> bool:
    """Return True for a text that is meant as an address and not as a folder's path."""
    return "://" in text


def parse_address(text: str) -> StoreAddress:
    """Return the parts of an address.

    Raises `RequestInvalidError` for another scheme, a missing bucket, or an address with user, password or
    query, which may be credentials: its text does not repeat them.
    """
    scheme, separator, rest = text.partition("://")
    if not separator:
        raise RequestInvalidError(f"address: {_ALLOWED} is allowed, and the value has no '://'")
    if scheme not in SCHEMES:
        shown = repr(scheme) if scheme.isalnum() and len(scheme) < 20 else "this one"
        raise RequestInvalidError(f"address: the scheme {shown} is unknown; allowed is {_ALLOWED}")
    kind: Scheme = scheme
    bucket, _, path = rest.partition("/")
    if "@" in bucket or "?" in rest or "#" in rest:
        raise RequestInvalidError(
            f"address = '{kind}://[hidden]': it may have no '@', '?' or '#'; credentials are read from the "
            "environment variables"
        )
    if kind == "file":
        return _file_address(bucket, path)
    if not bucket or not _BUCKET_CHARACTERS.issuperset(bucket):
        raise RequestInvalidError(
            f"address = {text!r}: the bucket's name is missing or wrong; use {_ALLOWED}"
        )
    prefix = path.strip("/")
    if prefix:
        check_name(prefix, "the prefix of the address")
    return StoreAddress(kind, bucket, prefix)


def _file_address(host: str, path: str) -> StoreAddress:
    if host or not path.strip("/"):
        raise RequestInvalidError("address: a folder needs its absolute path, file:///folder")
    folder = unquote(path).strip("/")
    check_name(folder, "the path of the address")
    return StoreAddress("file", "", f"/{folder}")


def check_name(name: str, argument: str = "name") -> str:
    """Return an object's name if it stays below its store's prefix on every store.

    Raises `RequestInvalidError` for an empty name, an empty, `.` or `..` segment, a control character or a
    backslash.
    """
    segments = name.split("/")
    if any(segment in ("", ".", "..") for segment in segments) or "\\" in name or not name.isprintable():
        raise RequestInvalidError(
            f"{argument} = {name!r}: allowed are segments between single slashes, without '.', '..', control "
            "characters and backslashes"
        )
    return name
