"""The data beside the messages: tables of users, groups, members and conversations, and attachments.

`tables` says which columns each table has, `table_lists` reads the lists of the service, `table_files` writes
the files, and `snapshot` puts them in the place of the older ones. `attachments` fetches the files that
messages link to.
"""
