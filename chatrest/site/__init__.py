"""Sites for people: an export as pages of HTML, static ones or from a local server.

```python
from chatrest.site import write_site

write_site("backup", "site")  # site/index.html opens by a double click
```
"""

from .choice import SiteOptions
from .document import DocumentResult, write_document
from .viewer import Viewer
from .writer import SiteResult, check_zip, write_site, write_zip

__all__ = [
    "DocumentResult",
    "SiteOptions",
    "SiteResult",
    "Viewer",
    "check_zip",
    "write_document",
    "write_site",
    "write_zip",
]
