"""`export`, and the commands that read an export.

| file              | holds                                                                      |
|-------------------|----------------------------------------------------------------------------|
| `command` `apps`  | `export`, of one app and of many                                           |
| `display`         | the progress of a run, on a terminal and in a log                          |
| `summary`         | the end of a run and an estimate, as lines                                 |
| `status`          | what an export says of itself, without the service                         |
| `cat`             | `cat` and `changes`                                                        |
| `copies`          | `load` a database, `seal` a bag, and `verify` an export or a bag           |
| `html`            | an export as pages                                                         |
"""
