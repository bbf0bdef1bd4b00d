"""Exports and fan-outs on many machines, with the workers of a Dask cluster; needs the extra `dask`.

```python
from distributed import Client
from chatrest.distributed import export

async with Client("tls://scheduler:8786", asynchronous=True) as client:
    report = await export(client, app, "/shared/out", Plan(all_users=True))
```
"""

from importlib.util import find_spec as _find_spec

from ..errors import RequestInvalidError
from ..extras import missing_extra as _missing_extra

if _find_spec("distributed") is None:
    raise RequestInvalidError(_missing_extra("chatrest.distributed", "dask"))

from .coordinator import ClusterError
from .fan_out import fan_out
from .start import export

__all__ = ["ClusterError", "export", "fan_out"]
