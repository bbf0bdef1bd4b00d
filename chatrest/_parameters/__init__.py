"""Filters of lists and bodies of requests, as structs that check what they are given.

- `checked`: the base classes `Filter` and `Body`, their rules and error texts;
- `fields`: types of fields that several structs share, and meanings of fields by name;
- `files`: files to upload; `data_import`: bodies of imports;
- the other modules have the structs of the collections in `_resources`.
"""
