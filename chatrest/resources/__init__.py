"""The service's collections, a file each: their endpoints, their bodies, their class."""
