"""The forms of stored records: compressed lines, columns and Parquet; how they are read back."""
