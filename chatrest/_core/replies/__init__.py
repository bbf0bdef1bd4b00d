"""From the bytes of a reply to records, pages, outcomes and errors.

- `scanner`, `bounds`: JSON as it is really sent, and the limits of a reply;
- `envelope`, `record_kinds`, `rows`: lists, the types of their records, and records as bytes;
- `one_record`, `outcomes`: single records, and an outcome per item;
- `decode`: the table of envelopes that endpoints use. Read it first;
- `expectation`: records that do not match the request;
- `faults`, `rate_signal`: errors, and the rate limit in headers.
"""
