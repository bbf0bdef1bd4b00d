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
from tests.cases import loop_over

DOCUMENTED: dict[str, int | None] = json.loads(
    (Path(__file__).parent / "operations.json").read_text(encoding="utf-8")
)["errors"]
"""The codes of the service's error guide, each with its status where one is documented or was seen."""
ELSEWHERE = ["ERR_MESSAGE_NOT_FOUND", "ERR_NO_AUTH", "ERR_ROUTE_NOT_FOUND"]  # seen on compatible servers


def test_every_documented_code_is_known_and_no_other() -> None:
    assert len(DOCUMENTED) == 140
    assert set(KINDS) == {*DOCUMENTED, *ELSEWHERE}


# Statuses that are documented or were seen; the code is read in the same way beside any other.
STATUSES = {
    "AUTH_ERR_APIKEY_NOT_FOUND": 401, "AUTH_ERR_NO_ACCESS": 403, "ERR_PERMISSION_DENIED": 403,
    "ERR_UID_NOT_FOUND": 404, "ERR_GUID_NOT_FOUND": 404, "ERR_NOT_A_MEMBER": 403, "ERR_ALREADY_JOINED": 409,
    "ERR_MESSAGE_ID_NOT_FOUND": 404, "ERR_EMPTY_MESSAGE_TEXT": 400, "ERR_PINNED_MESSAGES_LIMIT_EXCEEDED": 400,
    "ERR_SAVED_MESSAGES_LIMIT_EXCEEDED": 400, "ERR_SYSTEM_PINNED_CONVERSATION": 403, "ERR_API_NOT_FOUND": 404,
    "ERR_BAD_REQUEST": 400, "ERR_TOO_MANY_REQUESTS": 429, "ERR_NO_AUTH": 401, "ERR_MESSAGE_NOT_FOUND": 404,
}  # fmt: skip


@loop_over("code", STATUSES)
@loop_over("status", [200, 400, 404, 417, 500])
def test_a_known_code_determines_the_class_for_any_status(code: str, status: int) -> None:
    assert api_error_class(status, code) is api_error_class(STATUSES[code], None)


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
    assert [code for code in codes if api_error_class(417, code) is not kind] == []


@loop_over("code", ["ERR_EXCEPTION", "ERR_BAD_ERROR_RESPONSE"])
def test_an_unspecific_code_leaves_the_class_to_the_status(code: str) -> None:
    statuses = (200, 400, 401, 403, 404, 409, 417, 429, 500)
    assert [api_error_class(status, code) for status in statuses] == [
        ServerError, BadRequestError, AuthenticationError, PermissionDeniedError, NotFoundError,
        ConflictError, ServerError, RateLimitError, ServerError,
    ]  # fmt: skip
