"""The data beside the messages: tables of what the service lists, and attachments.

`tables` says which columns each table has, and checks their files; `dataset` reads the lists of the service.
The store writes the files. `attachments` fetches the files that messages link to, by `downloads`.
"""
