"""`verify`: reads an export again, and says what is missing or damaged."""
