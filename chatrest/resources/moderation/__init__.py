"""Moderation: rules and their references, and the messages that they meet."""

from typing import final

from .keyword_lists import KeywordLists
from .moderated_messages import ModeratedMessages
from .rules import ModerationRules


@final
class Moderation(ModerationRules, KeywordLists, ModeratedMessages):
    """Rules, keyword lists, reasons, and blocked, flagged and reviewed messages: `session.moderation`."""
