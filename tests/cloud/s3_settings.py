"""Credentials and limits of the stores on the S3 server of the tests."""

from typing import Final

from chatrest._cloud.address import RequestLimits

SECRET: Final = "SECRETEXAMPLESECRETEXAMPLE"
KEY_ID: Final = "AKIDEXAMPLEKEYID"
LIMITS: Final = RequestLimits(retries=2, total=120.0, timeout=60.0, first_wait=0.001)
PART_SIZE: Final = 16 << 10
"""Bytes."""
