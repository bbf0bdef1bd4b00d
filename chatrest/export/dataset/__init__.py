"""The data beside the messages: `dataset` reads lists as tables, `attachments` fetches files."""
