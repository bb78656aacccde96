"""Problems that are too large or slow for one machine, in blocks of rows over the workers of a Dask cluster."""

from manifuse.cluster.connection import ADDRESS, DASK, connect
from manifuse.cluster.place import Cluster

__all__ = ["ADDRESS", "DASK", "Cluster", "connect"]
