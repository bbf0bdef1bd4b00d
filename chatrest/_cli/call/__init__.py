"""The command `call`: any operation of the table."""
