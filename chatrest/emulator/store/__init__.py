"""What the emulated service knows: users, groups, messages, in SQLite."""

from .store import Store

__all__ = ["Store"]
