"""Sites for people: an export as pages of HTML, static ones or from a local server.

```python
from chatrest.site import write_site

write_site("backup", "site")  # site/index.html opens by a double click
```
"""

from .viewer import Viewer
from .writer import SiteResult, write_site

__all__ = ["SiteResult", "Viewer", "write_site"]
