"""The ground floor of the client: facts and decisions, without clock, socket or loop.

Four packages, each of which imports only those before it, in the order of a request:

- `requests`: from an operation and its arguments to the request that is sent;
- `replies`: from the bytes of a reply to records, pages, outcomes and errors;
- `paging`: the walk of a list, from page to page;
- `pace`: rate limits and repetition.

`send` is above them: the session as an operation knows it. Code that awaits or sends is in `_walk`,
`_resources` and `_network`.
"""
