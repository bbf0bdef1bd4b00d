"""Headers that a deployment wants with every request, from the environment."""

import os
from collections.abc import Mapping

from ..errors import RequestInvalidError


def headers_from_env(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the headers of `CHATREST_HEADERS`, a `name: value` a line.

    Raises `RequestInvalidError` for a line of another form; it repeats no value, as these are secrets.
    """
    text = (os.environ if environ is None else environ).get("CHATREST_HEADERS", "")
    pairs = [line.partition(":") for line in text.splitlines() if line.strip()]
    if not all(name.strip() and separator for name, separator, _ in pairs):
        raise RequestInvalidError("CHATREST_HEADERS: expected lines of the form `name: value`")
    return {name.strip(): value.strip() for name, _, value in pairs}
