"""`export`, and the commands that read an export.

| file              | holds                                                                      |
|-------------------|----------------------------------------------------------------------------|
| `command` `apps`  | `export`, of one app and of many                                           |
| `display`         | the progress of a run, on a terminal and in a log                          |
| `summary`         | the end of a run and an estimate, as lines                                 |
| `stored` `status` | `verify`, `cat`, `changes` and `status`: without the service               |
| `load` `html`     | an export in a database, and as pages                                      |
"""
