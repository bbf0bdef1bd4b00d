"""`export`, and the commands that read an export.

| file              | holds                                                                      |
|-------------------|----------------------------------------------------------------------------|
| `command` `apps`  | `export`, of one app and of many                                           |
| `display`         | the progress of a run, on a terminal and in a log                          |
| `summary`         | the end of a run and an estimate, as lines                                 |
| `verify` `status` | the checks, and what an export says of itself: without the service         |
| `cat`             | `cat` and `changes`                                                        |
| `load` `html`     | an export in a database, and as pages                                      |
"""
