"""The habits of servers that speak the service's wire and keep other customs: `Emulator(habits=…)`.

"documented" is the service of the documents, "compatible" an independent server that was seen.
What a single fault can tell is in `chatrest.emulator.weather`.
"""

from typing import Literal, TypeAlias

from .compatible import CompatibleService

HabitsName: TypeAlias = Literal["documented", "compatible"]

__all__ = ["CompatibleService", "HabitsName"]
