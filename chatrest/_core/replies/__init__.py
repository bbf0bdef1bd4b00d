"""From the bytes of a reply to records, pages, outcomes and errors. Read `decode` first."""
