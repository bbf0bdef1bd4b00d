"""Exports on many machines, with the workers of a Dask cluster; needs the extra `dask`.

```python
from distributed import Client
from chatrest.distributed import export

async with Client("tls://scheduler:8786", asynchronous=True) as client:
    report = await export(client, app, "/shared/out", Plan(all_users=True))
```

The public names are imported when they are first used: a worker imports this package in its event loop.
"""

from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING, Any

from .._texts import MissingExtraError as _MissingExtraError, missing_extra as _missing_extra

if TYPE_CHECKING:
    from .cluster import ClusterError
    from .cluster_export import export

if _find_spec("distributed") is None:
    raise _MissingExtraError(_missing_extra("chatrest.distributed", "dask"))

__all__ = ["ClusterError", "export"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import cluster, cluster_export

    return getattr(cluster_export if name == "export" else cluster, name)
