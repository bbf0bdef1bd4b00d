"""Exports as versions in an object store: `publish` and `fetch` are in `chatrest.export.publishing`.

- `sending`, `fetching`, `results`: the two operations on an open store, and their results.
- `export_files`: the files of an export, and the checks before they are published.
- `lineage`: the generations that a copy of an export has had, which say which copy goes on from which.
- `folder_lock`: the journal, locked, and its snapshot.
- `folder_update`: a folder that becomes a fetched version, in one step that can be repeated.
"""
