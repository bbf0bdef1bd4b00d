"""Archives for people: an export as pages of HTML, static ones or from a local server.

```python
from chatrest.archive import write_site

write_site("backup", "site")  # site/index.html opens by a double click
```
"""

from .site import SiteResult, write_site
from .viewer import Viewer

__all__ = ["SiteResult", "Viewer", "write_site"]
