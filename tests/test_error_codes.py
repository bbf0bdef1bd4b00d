"""The known codes of the service: all there, once, and each in the class that its name promises."""

import json
import re
from pathlib import Path

from chatrest.error_codes import KINDS
from chatrest.errors import (
    ApiError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
    api_error_class,
)
from tests.support.cases import loop_over

DOCUMENTED: dict[str, int | None] = json.loads(
    (Path(__file__).parent / "operations.json").read_text(encoding="utf-8")
)["errors"]
"""The codes of the service's error guide, each with its status where one is documented or was seen."""
ELSEWHERE = ["ERR_MESSAGE_NOT_FOUND", "ERR_NO_AUTH", "ERR_ROUTE_NOT_FOUND"]  # seen on compatible servers


def test_every_documented_code_is_known_and_no_other() -> None:
    assert len(DOCUMENTED) == 140
    assert set(KINDS) == {*DOCUMENTED, *ELSEWHERE}


PATTERNS: list[tuple[str, type[ApiError]]] = [
    (r"AUTH_ERR_(?!NO_ACCESS)", AuthenticationError),
    (r"ERR_(?!.*AUTH_ERR).*_NOT_FOUND$", NotFoundError),
    (r"ERR_NOT_A_(FRIEND|BANNED_USER)$", NotFoundError),
    (r"ERR_.*ALREADY_", ConflictError),
    (r"ERR_SAME_", ConflictError),
    (r".*_(NO_CLEARANCE|DENIED|NOT_ALLOWED|NO_ACCESS|NO_SELF_ACTION|RESTRICTION)$", PermissionDeniedError),
    (r"ERR_(IMPORT_|CALL_)?(EMPTY|INVALID|WRONG)_", BadRequestError),
    (r"ERR_TOO_MANY_REQUESTS$", RateLimitError),
    (r"ERR_.*_FAILED$|ERR_EXCEPTION$|ERR_BAD_ERROR_RESPONSE$", ServerError),
]


@loop_over(("pattern", "kind"), PATTERNS)
def test_codes_of_one_pattern_have_one_class(pattern: str, kind: type[ApiError]) -> None:
    codes = [code for code in KINDS if re.match(pattern, code)]
    assert codes
    unspecific = ("ERR_EXCEPTION", "ERR_BAD_ERROR_RESPONSE")
    for status in (417, 200, 400, 404, 500):
        known = codes if status == 417 else [code for code in codes if code not in unspecific]
        assert [code for code in known if api_error_class(status, code) is not kind] == []


@loop_over("code", ["ERR_EXCEPTION", "ERR_BAD_ERROR_RESPONSE"])
def test_an_unspecific_code_leaves_the_class_to_the_status(code: str) -> None:
    statuses = (200, 400, 401, 403, 404, 409, 417, 429, 500)
    assert [api_error_class(status, code) for status in statuses] == [
        ServerError, BadRequestError, AuthenticationError, PermissionDeniedError, NotFoundError,
        ConflictError, ServerError, RateLimitError, ServerError,
    ]  # fmt: skip
