"""Object stores: files in S3, GCS or Azure, one writer at a time, and versions that appear at once.

Needs the extra `cloud` (obstore), which is imported when a store is opened.
"""
