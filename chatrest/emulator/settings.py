"""The arguments of an emulator, checked: errors name the argument that is wrong, and what is allowed."""

from collections.abc import Awaitable, Callable
from os import PathLike
from typing import Annotated, ClassVar, Final

from msgspec import Meta

from ..app import App
from ..errors import RequestInvalidError
from .checked import CheckedArguments
from .service.dispatch import Keys

AUTH_ONLY_KEY: Final = "emulated-auth-only-key"
MANAGEMENT_KEY: Final = "emulated-management-key"
MANAGEMENT_SECRET: Final = "emulated-management-secret"  # noqa: S105


def _up_to(most: int) -> Meta:
    return Meta(ge=0, le=most, description=f"a whole number from 0 to {most}")


class EmulatorSettings(CheckedArguments):
    """The arguments of an emulator, but for those that can change while it runs."""

    subject: ClassVar[str | None] = ""

    users: Annotated[int, _up_to(10**6)]
    messages: Annotated[int, _up_to(10**8)]
    seed: Annotated[int, _up_to(2**63 - 1)]
    groups: Annotated[int, _up_to(10**5)]
    host: Annotated[
        str, Meta(pattern=r"\A[0-9A-Za-z.:-]+\Z", description="a name or an address, such as 0.0.0.0")
    ]
    port: Annotated[int, _up_to(65_535)]
    database: str | PathLike[str] | None
    only_app: str | None
    """The only app that is served; None for every one."""
    api_key: str
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.messages and self.users < 2:
            raise RequestInvalidError(
                f"users = {self.users}: messages need 2 users at least; give messages=0 for none"
            )
        App(self.app_id, self.api_key)
        if self.api_key == AUTH_ONLY_KEY:
            raise RequestInvalidError("api_key: expected any key but that of the scope authOnly")
        database: object = self.database
        if database == "" or not isinstance(database, str | PathLike | None):
            raise RequestInvalidError(f"database = {database!r}: expected the path of a file, or None")

    @property
    def app_id(self) -> str:
        return "emulated" if self.only_app is None else self.only_app

    @property
    def keys(self) -> Keys:
        return Keys(self.api_key, AUTH_ONLY_KEY, MANAGEMENT_KEY, MANAGEMENT_SECRET)
