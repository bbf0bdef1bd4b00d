"""One list that several readers read from different positions."""
