import pytest

from chatrest._cloud.address import StoreAddress, check_name, parse_address
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over


@loop_over(
    ("text", "expected"),
    [
        ("s3://bucket", StoreAddress("s3", "bucket", "")),
        ("s3://bucket/", StoreAddress("s3", "bucket", "")),
        ("s3://bucket/a/b=c/", StoreAddress("s3", "bucket", "a/b=c")),
        ("gs://bucket/a b", StoreAddress("gs", "bucket", "a b")),
        ("az://container/a", StoreAddress("az", "container", "a")),
    ],
)
def test_an_address_is_read_and_shown(text: str, expected: StoreAddress) -> None:
    assert parse_address(text) == expected
    assert str(expected) == text.rstrip("/")


@loop_over(
    ("text", "words"),
    [
        ("bucket/prefix", "no '://'"),
        ("ftp://host/path", "'ftp' is unknown; expected s3://bucket/prefix"),
        ("s3://", "the bucket's name is missing"),
        ("s3:///prefix", "the bucket's name is missing"),
        ("s3://a bucket/prefix", "the bucket's name is missing or wrong"),
        ("s3://bucket/a/../b", "expected segments"),
        ("s3://bucket/a//b", "expected segments"),
        ("file:///tmp/a", "the scheme 'file' is unknown"),
    ],
)
def test_a_wrong_address_is_refused(text: str, words: str) -> None:
    with pytest.raises(RequestInvalidError, match=r"^address|^the p") as caught:
        parse_address(text)
    assert words in str(caught.value)


@loop_over(
    "text",
    ["s3://AKID:hunter2@bucket/prefix", "az://container/prefix?sig=hunter2", "gs://bucket/prefix#hunter2",
     "hunter2-hunter2-hunter2://x"],
)  # fmt: skip
def test_credentials_in_an_address_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(RequestInvalidError, match="address") as caught:
        parse_address(text)
    assert "hunter2" not in str(caught.value)


@loop_over("name", ["", "/a", "a/", "a//b", ".", "..", "a/../b", "a\\b", "a\nb", "a\x00"])
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(RequestInvalidError, match=r"^name = "):
        check_name(name)
