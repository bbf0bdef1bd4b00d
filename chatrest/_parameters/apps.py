"""Filters and bodies of apps, API keys, usage figures, and webhooks with their triggers."""

from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field
from msgspec.structs import force_setattr

from ..errors import RequestInvalidError
from .checked import Body, Bool, Filter, Millis, PageQuery, PageSize, Text, Texts, struct_type
from .fields import ShortText, length_rule


class AppQuery(PageQuery):
    """The filter of GET {management_base_url}/apps; a walk starts at `page`."""

    search_key: Text | None = None
    """The text that the name or id begins with."""


class NewApp(Body):
    """An app to create."""

    name: Text
    region: Literal["us", "eu", "in"] = "us"
    version: Text | UnsetType = UNSET
    """The version of its client libraries, by default "3"."""
    skip_sample_data: Bool | UnsetType = UNSET
    """Make the app without sample users and groups."""


KeyScope: TypeAlias = Literal["authOnly", "fullAccess"]


class ApiKeyQuery(Filter):
    """The filter of GET /apikeys."""

    scope: KeyScope | None = None
    search_key: Text | None = None
    """Only keys with this text in their name."""


class NewApiKey(Body):
    """A key to create."""

    name: ShortText
    scope: KeyScope = "authOnly"


class ApiKeyChanges(Body):
    """Changes of a key; what is not given stays."""

    name: ShortText | UnsetType = UNSET
    scope: KeyScope | UnsetType = UNSET


class UsageQuery(Filter):
    """The window of GET /stats; `RequestInvalidError` if it ends before it begins."""

    windows: ClassVar[tuple[tuple[str, str], ...]] = (("from_date", "to_date"),)

    from_date: Millis
    """From this time on."""
    to_date: Millis
    """Until this time."""


_HOST: Final = r"[^\s/?#@\x00-\x1f\x7f-\x9f\ud800-\udfff]+"
_URL_TAIL: Final = r"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]*"

Version: TypeAlias = Literal[2] | None
"""2 for the current webhooks, None for the legacy ones."""
WebhookId: TypeAlias = Annotated[
    str,
    Meta(
        max_length=50,
        pattern=r"\A[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+\Z",
        description="a text of 1 to 50 characters without spaces",
    ),
]
WebhookText: TypeAlias = Annotated[str, length_rule(1, 50)]
WebhookUrl: TypeAlias = Annotated[
    str,
    Meta(
        max_length=255,
        pattern=rf"\A(?:https://{_HOST}|http://(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?)(?:[/?]{_URL_TAIL})?\Z",
        description="an https URL of at most 255 characters (http to loopback alone), without a password",
    ),
]


class WebhookVersion(Filter):
    """The header that chooses the current webhooks (2) or the legacy ones (None, and then it is not sent)."""

    x_webhook_version: Annotated[Literal[2], Meta(description="2, or None")] | None = field(
        default=2, name="X-Webhook-Version"
    )
    """2 for the current webhooks, None for the legacy ones."""


class WebhookQuery(Filter):
    """The filter of GET /apps/{appId}/webhooks."""

    per_page: PageSize | None = None
    search_key: Text | None = None
    """Only webhooks with this text in their name."""


class WebhookChanges(Body):
    """The members of a webhook to change."""

    name: WebhookText | UnsetType = UNSET
    webhook_url: WebhookUrl | UnsetType = field(default=UNSET, name="webhookURL")
    use_basic_auth: Bool | UnsetType = UNSET
    username: WebhookText | UnsetType = UNSET
    """The user name of HTTP Basic authentication."""
    password: Annotated[str, length_rule(1, 100)] | UnsetType = UNSET
    """The password of HTTP Basic authentication."""
    enabled: Bool | UnsetType = UNSET
    retry_on_failure: Bool | UnsetType = UNSET
    """Send an event that was not answered with 2xx twice again, after 10 s and 30 s."""


class NewWebhook(WebhookChanges):
    """A webhook to create. `username` and `password` are sent with each event if `use_basic_auth` is true.

    Give both of them or neither. With both, `use_basic_auth` is true unless it is given, too.
    """

    id: WebhookId
    name: WebhookText
    webhook_url: WebhookUrl = field(name="webhookURL")

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in ("username", "password") if getattr(self, name) is not UNSET]
        if len(given) == 1:
            raise RequestInvalidError(f"{given[0]} alone: expected username and password, or neither")
        if given and self.use_basic_auth is UNSET:
            force_setattr(self, "use_basic_auth", True)


TriggerIds: Final = struct_type("TriggerIds", Body, trigger_ids=Texts)
