from chatrest._cloud.store_errors import (
    ConditionUnsupportedError,
    ObjectNotFoundError,
    ObjectStoreError,
    store_error,
)
from tests.support.cases import loop_over

SECRET = "hunter2"


class GenericError(Exception):
    """Named as obstore's fallback error."""


class PanicError(Exception):
    """An error of a class that is not known."""


@loop_over(
    ("error", "reason"),
    [
        (
            GenericError(
                "Generic S3 error: Error performing PUT http://host/b/a in 1s, after 5 retries - "
                f"Server returned non-2xx status code: 503 Service Unavailable: <Error><Code>SlowDown</Code>"
                f"<AWSAccessKeyId>{SECRET}</AWSAccessKeyId></Error>"
            ),
            "the store answered 503 SlowDown (6 requests)",
        ),
        (
            GenericError(f"Error performing PUT https://a.net/x?sig={SECRET} - HTTP error\n kind: Timeout,"),
            "no reply came in time",
        ),
        (GenericError("HTTP error: error sending request\n kind: Connect,"), "no connection could be made"),
        (
            GenericError("Error performing PUT http://169.254.169.254/latest/api/token - status code: 403"),
            (
                "the environment variables have no credentials, and no metadata service gave any: expected "
                "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL"
            ),
        ),
        (
            GenericError(f"OAuth error: token {SECRET} was refused"),
            "the credentials in the environment variables could not be read",
        ),
        (
            GenericError("Error performing GET http://host/b/a - Received redirect without LOCATION, this"),
            "the store answered with a redirect; AWS_REGION may not be the region of the bucket",
        ),
        (
            GenericError("status code: 400 Bad: <Code>AuthorizationHeaderMalformed</Code>"),
            (
                "the store answered 400 AuthorizationHeaderMalformed"
                "; AWS_REGION may not be the region of the bucket"
            ),
        ),
        (PermissionError(13, "Permission denied", SECRET), "Permission denied"),
        (PanicError(SECRET), "the store's client failed (PanicError)"),
    ],
)
def test_an_error_is_one_line_without_the_text_of_the_store(error: Exception, reason: str) -> None:
    result = store_error(error, "write", "s3://bucket/a")
    assert str(result) == f"could not write s3://bucket/a: {reason}"
    assert type(result) is ObjectStoreError
    assert (result.__cause__, result.__context__) == (None, None)


@loop_over(
    ("error", "expected"),
    [
        (FileNotFoundError("Object at location a not found"), ObjectNotFoundError),
        (FileNotFoundError("status code: 404 Not Found: <Code>NoSuchBucket</Code>"), ObjectStoreError),
        (NotImplementedError("Operation `put_opts`"), ConditionUnsupportedError),
        (GenericError("status code: 501 Not Implemented"), ConditionUnsupportedError),
    ],
)
def test_the_class_follows_from_the_fault(error: Exception, expected: type[ObjectStoreError]) -> None:
    assert type(store_error(error, "read", "s3://bucket/a")) is expected


@loop_over(
    ("text", "expected"),
    [
        ("Error getting list response body: HTTP error\n kind: Interrupted,", True),
        ("Error performing GET http://host/b in 9s, after 8 retries - HTTP error\n kind: Timeout,", False),
        ("Server returned non-2xx status code: 503 Service Unavailable\n kind: Timeout,", False),
        ("Error performing GET http://host/b - Received redirect without LOCATION", False),
    ],
)
def test_only_a_reply_that_was_lost_and_not_repeated_is_a_passing_fault(text: str, expected: bool) -> None:
    assert store_error(GenericError(text), "list", "s3://bucket").is_passing is expected
