"""The records that the service sends, as frozen structs.

- `record`: the base class and the types of fields; `raw_json`: JSON as Python objects;
- `lenient`: values of a wrong type; `meta`: positions of lists; `outcomes`: acknowledgements, batches;
- `users` (groups and members, too), `messages`, `conversations`, `calls`;
- `moderation`, `notifications`, `roles`, `apps`, `agents`, `agent_knowledge`: the records of collections;
- `deleted_texts`: a record without the content of deleted messages.
"""
