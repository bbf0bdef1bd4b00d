"""Object stores: files in S3, GCS or Azure, one writer at a time, and versions that appear at once.

Needs the extra `cloud` (obstore), which is imported when a store is opened.

```python
store = ObjectStore.open("s3://bucket/prefix")
async with Lease(store) as lease:
    publisher = Publisher(store, lease)
    await publisher.begin()
    version = await publisher.publish([LocalFile("table.ndjson", path, size, sha256)])
await fetch_file(store, version.files[0], Path("copy.ndjson"))
```
"""
