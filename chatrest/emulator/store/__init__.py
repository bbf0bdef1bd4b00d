"""The data of the emulated service: users, groups, members and messages, in SQLite."""

from .store import Store

__all__ = ["Store"]
