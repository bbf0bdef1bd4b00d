"""The data beside the messages: `dataset` reads lists of the service as tables, `attachments` fetches files."""
