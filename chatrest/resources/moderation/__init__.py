"""Moderation (operations table, moderation): rules and their references, and the messages that they meet."""

from typing import final

from .moderated_messages import ModeratedMessages
from .rules import ModerationRules


@final
class Moderation(ModerationRules, ModeratedMessages):
    """Rules, keyword lists, reasons, and blocked, flagged and reviewed messages: `session.moderation`."""
