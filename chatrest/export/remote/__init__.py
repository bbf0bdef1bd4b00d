"""Exports in object stores: `s3://bucket/prefix` in the place of a folder.

- `store_export`: a run, or a merge of files, in a local working folder, whose result is published.
- `working_folder`: the folder of `--journal`: the copy of the export, and what it continues from.
- `part_objects`: the objects that the parts of an export have in common.
"""
