"""The address and the key of an app, by argument or from the environment, and the headers of its deployment.

An address is https, so that a key is never sent in plain text. Exceptions are loopback, where an emulator or
a test server listens, and an app that allows http, as for an emulator in another container. Of
a text that may be a key an error shows only the length.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self, final
from urllib.parse import urlsplit

from ._core.requests.arguments import hides_arguments
from ._secrets import description
from .errors import RequestInvalidError

REGIONS: Final = ("us", "eu", "in")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_DOMAIN = re.compile(rf"{_LABEL.pattern}(?:\.{_LABEL.pattern})*(?::[0-9]{{1,5}})?")
_KEY = re.compile(r"[\x21-\x7e]+")
_SCHEME = re.compile(r"[A-Za-z]{1,6}://")
_SHOWN_URL = re.compile(
    rf"(?!.*\w{{20}})(?:{_SCHEME.pattern}|(?=[^/]*[.:])){_DOMAIN.pattern}(?:/[\w./-]*)?", re.ASCII
)
"""An address that an error shows: it has a host, no user, query or fragment, and no word as long as a key."""
_ADDRESS: Final = "https://host[:port][/path], or http:// to loopback,"
_MAX_SHOWN: Final = 12
"""Characters of a wrong text that an error shows: a longer one may be the key, if arguments are swapped."""
_VARIABLES: Final = ("APP_ID", "API_KEY", "REGION", "SERVICE_DOMAIN", "BASE_URL")


@final
@dataclass(frozen=True, slots=True, init=False)
class App:
    """One application's address and key: a value, hashable, safe to print (the key is never shown).

    The chat interface is `https://{app_id}.api-{region}.{service_domain}/v3`, the calls interface has
    `call-` for `api-`. A `base_url` replaces both (an emulator, a proxy, another deployment). `allow_http`
    permits an http `base_url` of any host: everybody on the network can read the key then.

    Raises `RequestInvalidError` for a region other than us, eu or in, an app id that is not one DNS label, a
    key that cannot be in a header, or an address that is neither https nor loopback. Pickling it raises
    `TypeError`, as the pickle would contain the key.
    """

    app_id: str
    api_key: str = field(repr=False)
    region: str
    service_domain: str | None
    base_url: str | None
    allow_http: bool

    @hides_arguments
    def __init__(
        self,
        app_id: str,
        api_key: str,
        region: str = "us",
        *,
        service_domain: str | None = None,
        base_url: str | None = None,
        allow_http: bool = False,
    ) -> None:
        _check("app_id", app_id, _LABEL, "one DNS label: letters, digits and inner dashes, 1 to 63")
        check_key("api_key", api_key)
        if region not in REGIONS:
            raise _refusal("region", _shown(region), "us, eu or in")
        if service_domain is not None:
            expected = "a host name such as chat.example.com, with or without a port from 1 to 65535"
            _check("service_domain", service_domain, _DOMAIN, expected)
            if not 0 < int(service_domain.partition(":")[2] or 1) < 65536:
                raise _refusal("service_domain", _shown(service_domain), expected)
        if not isinstance(allow_http, bool):
            raise _refusal("allow_http", description(allow_http), "True or False")
        if base_url is not None:
            base_url = check_url("base_url", base_url, allow_http=allow_http, secrets=(api_key,))
        values = (app_id, api_key, region, service_domain, base_url, allow_http)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> str:
        raise TypeError(
            "an App holds a key and cannot be pickled: read it where it is used, with App.from_env()"
        )

    @property
    def chat_url(self) -> str:
        """The chat interface's base address, without a slash at its end."""
        return self._url("api")

    @property
    def calls_url(self) -> str:
        """The calls interface's base address, without a slash at its end."""
        return self._url("call")

    def _url(self, interface: str) -> str:
        if self.base_url is not None:
            return self.base_url
        if self.service_domain is None:
            raise RequestInvalidError(f"app {self.app_id}: no address; give service_domain or base_url")
        return f"https://{self.app_id}.{interface}-{self.region}.{self.service_domain}/v3"

    @classmethod
    @hides_arguments
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Self:
        """Return the app of the environment's variables, or of those in `environ`.

        Reads `CHATREST_APP_ID`, `CHATREST_API_KEY`, `CHATREST_REGION` (default us),
        `CHATREST_SERVICE_DOMAIN` or `CHATREST_BASE_URL`, and `CHATREST_ALLOW_HTTP` (0 or 1). Raises one
        `RequestInvalidError` that names all missing variables, or the wrong one.
        """
        env = os.environ if environ is None else environ
        get = {name: env.get(f"CHATREST_{name}") or None for name in _VARIABLES}
        missing = [f"CHATREST_{name}" for name in ("APP_ID", "API_KEY") if get[name] is None]
        if get["SERVICE_DOMAIN"] is None and get["BASE_URL"] is None:
            missing.append("CHATREST_SERVICE_DOMAIN (or CHATREST_BASE_URL)")
        if missing:
            raise RequestInvalidError(f"the environment lacks {', '.join(missing)}")
        allow_http = allows_http(env)
        try:
            return cls(
                get["APP_ID"] or "",
                get["API_KEY"] or "",
                get["REGION"] or "us",
                service_domain=get["SERVICE_DOMAIN"],
                base_url=get["BASE_URL"],
                allow_http=allow_http,
            )
        except RequestInvalidError as error:
            variable = f"CHATREST_{error.name.upper()}"
            failure = RequestInvalidError(variable + str(error).removeprefix(error.name), name=variable)
        raise failure


def environment_of(app: App) -> dict[str, str]:
    """Return the variables of `App.from_env` for an app, with its key; empty for a missing value."""
    values = (app.app_id, app.api_key, app.region, app.service_domain or "", app.base_url or "")
    named = dict(zip(_VARIABLES, values, strict=True), ALLOW_HTTP=str(int(app.allow_http)))
    return {f"CHATREST_{name}": value for name, value in named.items()}


def check_key(name: str, key: str) -> str:
    """Return `key` if it can be in a header unchanged; else `RequestInvalidError`."""
    _check(name, key, _KEY, "1 or more printable ASCII characters without spaces", is_secret=True)
    return key


def allows_http(environ: Mapping[str, str]) -> bool:
    """Return True if `CHATREST_ALLOW_HTTP` is 1; `RequestInvalidError` for a value other than 0 or 1."""
    value = environ.get("CHATREST_ALLOW_HTTP") or "0"
    if value not in ("0", "1"):
        raise RequestInvalidError(f"CHATREST_ALLOW_HTTP = {value!r}: expected 0 or 1")
    return value == "1"


def check_url(name: str, url: object, *, allow_http: bool = False, secrets: tuple[str, ...] = ()) -> str:
    """Return `url` without a slash at its end, if it is https, or http to loopback or with `allow_http`.

    Raises `RequestInvalidError` for any other address; the error does not show a user, a query or `secrets`.
    """
    addresses = "https:// or http://host[:port][/path]," if allow_http else _ADDRESS
    expected = f"{addresses} without user, query or fragment"
    given = _shown_url(url, secrets)
    if not isinstance(url, str) or not _KEY.fullmatch(url):
        raise _refusal(name, given, expected)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or port == 0 or "@" in parts.netloc or any(each in url for each in "?#\\"):
        raise _refusal(name, given, expected)
    if parts.scheme != "https" and not (parts.scheme == "http" and (allow_http or is_loopback(host))):
        is_app = name == "base_url" and parts.scheme == "http"
        hint = "; http to another host needs allow_http=True (CHATREST_ALLOW_HTTP=1)" if is_app else ""
        raise _refusal(name, given, f"{expected}{hint}")
    return url.rstrip("/")


def check_proxy(url: object) -> str:
    """Return the address of a proxy, https or http: to an https service it only opens a tunnel.

    Raises `RequestInvalidError` for any other address.
    """
    return check_url("proxy", url, allow_http=True)


def check_proxy_use(proxy: str | None, addresses: Iterable[str]) -> None:
    """Raise `RequestInvalidError` for an http address through a proxy that is not on loopback."""
    if proxy is None or is_loopback(urlsplit(proxy).hostname or ""):
        return
    for address in addresses:
        if urlsplit(address).scheme == "http":
            raise RequestInvalidError(
                f"proxy: {address} is http, and the proxy would read the key: expected an https address, "
                "a proxy on loopback, or none",
                name="proxy",
            )


def is_loopback(host: str) -> bool:
    from ipaddress import ip_address  # 3 ms, and only an address of our own needs it

    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def headers_from_env(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the headers of `CHATREST_HEADERS`, one `name: value` per line.

    Raises `RequestInvalidError` for a line without a name or a colon. The error does not show the line.
    """
    text = (os.environ if environ is None else environ).get("CHATREST_HEADERS", "")
    headers = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, colon, value = line.partition(":")
        if line.strip() and not (name.strip() and colon):
            raise RequestInvalidError(f"CHATREST_HEADERS: line {number}: expected `name: value`")
        if line.strip():
            headers[name.strip()] = value.strip()
    return headers


def _check(
    name: str, value: object, pattern: re.Pattern[str], expected: str, *, is_secret: bool = False
) -> None:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise _refusal(name, _shown(value, is_secret=is_secret), expected)


def _refusal(name: str, given: str, expected: str) -> RequestInvalidError:
    return RequestInvalidError(f"{name} = {given}: expected {expected}", name=name)


def _shown_url(url: object, secrets: tuple[str, ...]) -> str:
    """Return a wrong address for an error; its scheme alone if it may hold a key or a password."""
    if not isinstance(url, str):
        return description(url)
    if _SHOWN_URL.fullmatch(url) and not any(secret in url for secret in secrets):
        return repr(url)
    scheme = _SCHEME.match(url)
    return _shown(url, is_secret=True) if scheme is None else f"'{scheme[0]}…'"


def _shown(value: object, *, is_secret: bool = False) -> str:
    """Return a wrong value for an error; of a text that is secret, or as long as a key, only its length."""
    if not isinstance(value, str):
        return description(value)
    is_hidden = is_secret or len(value) > _MAX_SHOWN
    return f"[text of {len(value)} characters]" if is_hidden else repr(value)
