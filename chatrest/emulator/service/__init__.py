"""The rules of the emulated service: from a request to a reply, without a socket."""
