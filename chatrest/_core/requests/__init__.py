"""From an operation and its arguments to the request that is sent.

- `dialects`: the paging of a list, as a value;
- `endpoint`: an operation and a call of it, as values; path segments;
- `encode`: filters to the pairs of a query string;
- `wire`: the request itself: address, headers, JSON or form;
- `arguments`: checks of arguments, and `Timeouts`.
"""
