# The public names for type checkers; `__init__.py` has the same names, each with its module.

from ._core.pace.pacer import Pace as Pace
from ._core.pace.retry import RetryPolicy as RetryPolicy
from ._core.paging.cursor import Cursor as Cursor
from ._core.replies.one_record import parse as parse
from ._core.requests.arguments import Timeouts as Timeouts
from ._fan_out.outcomes import (
    Failure as Failure,
    FanOutCounts as FanOutCounts,
    Outcome as Outcome,
    Success as Success,
)
from ._fan_out.stream import FanOut as FanOut
from ._models.agent_knowledge import (
    DiscoveredUrl as DiscoveredUrl,
    KnowledgeAck as KnowledgeAck,
    KnowledgeRecord as KnowledgeRecord,
    KnowledgeStatuses as KnowledgeStatuses,
    KnowledgeText as KnowledgeText,
    PresignedUpload as PresignedUpload,
    PresignedUploads as PresignedUploads,
    ScrapedPage as ScrapedPage,
    SourcePage as SourcePage,
    UrlBatch as UrlBatch,
    WebsiteCrawl as WebsiteCrawl,
)
from ._models.agents import (
    Agent as Agent,
    ApiTool as ApiTool,
    AvailableModel as AvailableModel,
    CreatedAgent as CreatedAgent,
    CreatedExternalAgent as CreatedExternalAgent,
    DeletedExternalTool as DeletedExternalTool,
    EnabledItems as EnabledItems,
    ExternalAgent as ExternalAgent,
    ExternalTool as ExternalTool,
    FrontendAction as FrontendAction,
    McpServer as McpServer,
    ToolAction as ToolAction,
    ToolDefinition as ToolDefinition,
    ToolIntegration as ToolIntegration,
    ToolParameter as ToolParameter,
    ToolSearch as ToolSearch,
    Variable as Variable,
    VariableUsage as VariableUsage,
)
from ._models.apps import (
    ApiKey as ApiKey,
    AppInfo as AppInfo,
    MessageDataPoint as MessageDataPoint,
    MessageMetrics as MessageMetrics,
    TimeRange as TimeRange,
    Trigger as Trigger,
    UsageFigures as UsageFigures,
    UsageMetrics as UsageMetrics,
    Webhook as Webhook,
)
from ._models.calls import CallRecord as CallRecord, Transcription as Transcription
from ._models.conversations import Conversation as Conversation, ConversationParty as ConversationParty
from ._models.messages import (
    ActionMessage as ActionMessage,
    AddedMember as AddedMember,
    CallMessage as CallMessage,
    CustomMessage as CustomMessage,
    Flag as Flag,
    InteractiveMessage as InteractiveMessage,
    MediaMessage as MediaMessage,
    Message as Message,
    MessageCount as MessageCount,
    MessageOutcome as MessageOutcome,
    Reaction as Reaction,
    SentMessage as SentMessage,
    TextMessage as TextMessage,
    UnknownMessage as UnknownMessage,
)
from ._models.moderation import (
    BlockedMessage as BlockedMessage,
    KeywordList as KeywordList,
    ModerationCondition as ModerationCondition,
    ModerationFilter as ModerationFilter,
    ModerationRule as ModerationRule,
    Reason as Reason,
    ReviewedMessage as ReviewedMessage,
    RuleRevision as RuleRevision,
)
from ._models.notifications import (
    ContactDetails as ContactDetails,
    CustomProvider as CustomProvider,
    CustomPushProviders as CustomPushProviders,
    MutedConversations as MutedConversations,
    NotificationLog as NotificationLog,
    NotificationPreferenceGroups as NotificationPreferenceGroups,
    NotificationPreferences as NotificationPreferences,
    NotificationSettings as NotificationSettings,
    PushProviders as PushProviders,
    PushToken as PushToken,
    PushTokens as PushTokens,
    SendgridProvider as SendgridProvider,
    Timezone as Timezone,
    TwilioProvider as TwilioProvider,
    UserNotificationPreferences as UserNotificationPreferences,
)
from ._models.outcomes import Ack as Ack, ItemAck as ItemAck, Outcomes as Outcomes
from ._models.roles import (
    Feature as Feature,
    Permission as Permission,
    PermissionMap as PermissionMap,
    PermissionOutcomes as PermissionOutcomes,
    Role as Role,
    RoleSettings as RoleSettings,
)
from ._models.users import (
    AuthToken as AuthToken,
    DeactivatedUsers as DeactivatedUsers,
    Group as Group,
    GroupOutcome as GroupOutcome,
    Member as Member,
    MemberOutcome as MemberOutcome,
    MemberScope as MemberScope,
    ReactivatedUsers as ReactivatedUsers,
    User as User,
    UserOutcome as UserOutcome,
)
from ._network.pool import LimitState as LimitState, PoolState as PoolState
from ._network.session_options import RawReply as RawReply
from ._parameters.agent_knowledge import (
    DiscoveredUrlQuery as DiscoveredUrlQuery,
    KnowledgeQuery as KnowledgeQuery,
    KnowledgeTextChanges as KnowledgeTextChanges,
    NewKnowledgeText as NewKnowledgeText,
    NewUpload as NewUpload,
    PageToScrape as PageToScrape,
    SourcePageQuery as SourcePageQuery,
    WebsiteToScrape as WebsiteToScrape,
)
from ._parameters.agents import (
    AgentChanges as AgentChanges,
    AgentQuery as AgentQuery,
    ApiToolChanges as ApiToolChanges,
    EnabledActions as EnabledActions,
    EnabledItemsQuery as EnabledItemsQuery,
    ExternalAgentChanges as ExternalAgentChanges,
    ExternalToolChanges as ExternalToolChanges,
    FrontendActionChanges as FrontendActionChanges,
    IntegrationMeta as IntegrationMeta,
    IntegrationQuery as IntegrationQuery,
    McpServerChanges as McpServerChanges,
    NewAgent as NewAgent,
    NewApiTool as NewApiTool,
    NewExternalAgent as NewExternalAgent,
    NewExternalTool as NewExternalTool,
    NewFrontendAction as NewFrontendAction,
    NewMcpServer as NewMcpServer,
    NewToolParameter as NewToolParameter,
    NewVariable as NewVariable,
    ToolQuery as ToolQuery,
    ToolSearchQuery as ToolSearchQuery,
    VariableChanges as VariableChanges,
    VariableQuery as VariableQuery,
)
from ._parameters.apps import (
    ApiKeyChanges as ApiKeyChanges,
    ApiKeyQuery as ApiKeyQuery,
    AppQuery as AppQuery,
    NewApiKey as NewApiKey,
    NewApp as NewApp,
    NewWebhook as NewWebhook,
    WebhookChanges as WebhookChanges,
    WebhookQuery as WebhookQuery,
)
from ._parameters.checked import PageQuery as PageQuery
from ._parameters.conversations import (
    CallQuery as CallQuery,
    ConversationPin as ConversationPin,
    ConversationQuery as ConversationQuery,
    TranscriptionQuery as TranscriptionQuery,
)
from ._parameters.data_import import (
    GroupImport as GroupImport,
    MemberImport as MemberImport,
    MessageImport as MessageImport,
    UserImport as UserImport,
)
from ._parameters.files import File as File
from ._parameters.messages import (
    InteractionGoal as InteractionGoal,
    MessageChanges as MessageChanges,
    MessageQuery as MessageQuery,
    MultipleReceivers as MultipleReceivers,
    NewAttachment as NewAttachment,
    NewBotMessage as NewBotMessage,
    NewMessage as NewMessage,
    NewThreadMessage as NewThreadMessage,
    ThreadQuery as ThreadQuery,
)
from ._parameters.moderation import (
    ModerationQuery as ModerationQuery,
    NewFlag as NewFlag,
    NewKeywordList as NewKeywordList,
    NewModeratedMessage as NewModeratedMessage,
    NewReason as NewReason,
    NewRule as NewRule,
    RuleCondition as RuleCondition,
    RuleFilter as RuleFilter,
)
from ._parameters.notifications import (
    ApnsProvider as ApnsProvider,
    ContactDetailsChanges as ContactDetailsChanges,
    ConversationsToMute as ConversationsToMute,
    ConversationsToUnmute as ConversationsToUnmute,
    ConversationToMute as ConversationToMute,
    ConversationToUnmute as ConversationToUnmute,
    CustomEmailProviderChanges as CustomEmailProviderChanges,
    CustomPushProviderChanges as CustomPushProviderChanges,
    CustomSmsProviderChanges as CustomSmsProviderChanges,
    FcmProvider as FcmProvider,
    MutePreferences as MutePreferences,
    NewCustomEmailProvider as NewCustomEmailProvider,
    NewCustomPushProvider as NewCustomPushProvider,
    NewCustomSmsProvider as NewCustomSmsProvider,
    NewPushToken as NewPushToken,
    NewSendgridProvider as NewSendgridProvider,
    NewTwilioProvider as NewTwilioProvider,
    NotificationLogQuery as NotificationLogQuery,
    PreferencesChanges as PreferencesChanges,
    SendgridProviderChanges as SendgridProviderChanges,
    SettingsChanges as SettingsChanges,
    TwilioProviderChanges as TwilioProviderChanges,
)
from ._parameters.roles import (
    NewRole as NewRole,
    NewRoleSettings as NewRoleSettings,
    RoleChanges as RoleChanges,
)
from ._parameters.users import (
    FriendQuery as FriendQuery,
    GroupChanges as GroupChanges,
    GroupQuery as GroupQuery,
    MemberQuery as MemberQuery,
    NewGroup as NewGroup,
    NewMembers as NewMembers,
    NewUser as NewUser,
    TokenChanges as TokenChanges,
    UserChanges as UserChanges,
    UserQuery as UserQuery,
)
from ._walk.walk import Page as Page, TokenPage as TokenPage, Walk as Walk
from .app import App as App
from .errors import (
    ActingUserIgnoredError as ActingUserIgnoredError,
    ApiError as ApiError,
    AuthenticationError as AuthenticationError,
    BadRequestError as BadRequestError,
    ChatRestError as ChatRestError,
    ConflictError as ConflictError,
    ConnectError as ConnectError,
    CursorError as CursorError,
    DeadlineExceededError as DeadlineExceededError,
    DeadlineOutcomeUnknownError as DeadlineOutcomeUnknownError,
    ExportIncompleteError as ExportIncompleteError,
    FanOutError as FanOutError,
    NotFoundError as NotFoundError,
    OutcomeUnknownError as OutcomeUnknownError,
    PermissionDeniedError as PermissionDeniedError,
    RateLimitError as RateLimitError,
    ReplyUnreadableError as ReplyUnreadableError,
    RequestInvalidError as RequestInvalidError,
    RequestTimeoutError as RequestTimeoutError,
    ServerError as ServerError,
    ServerOutcomeUnknownError as ServerOutcomeUnknownError,
    TransportError as TransportError,
)
from .session import AsyncManagement as AsyncManagement, AsyncSession as AsyncSession
from .times import to_datetime as to_datetime

__version__: str
_HOME: dict[str, str]

def __dir__() -> list[str]: ...
