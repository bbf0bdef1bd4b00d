"""From an operation and its arguments to the request that is sent. Read `endpoint` first."""
