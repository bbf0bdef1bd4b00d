"""The command `call`: any operation of the table.

| file         | holds                                                             |
|--------------|-------------------------------------------------------------------|
| `command`    | the group, a command for each operation, what it prints           |
| `help_text`  | the help text of an operation, the list of all                    |
| `arguments`  | the texts `KEY=VALUE`, or a line, as the call of an endpoint      |
| `parameters` | the parameters of an operation and their names                    |
| `each`       | an operation for each line of a file                              |
"""
