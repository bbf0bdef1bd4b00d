"""Seal an export: a bag that archives keep, and whose hashes show each difference."""
