"""Measure, decide and run storage caches that know what they hold.

``open`` reads a trace or takes an array as one; ``simulate`` replays it under policies at sizes, ``curve`` draws hit
ratios at every size; ``Cache`` and ``cached`` run the same policies on values of your own; ``policies`` lists them.
"""

from ._cached import CacheInfo, cached
from ._native import Cache, Error, __version__
from ._policies import Parameter, Policy, policies
from ._results import Results
from ._simulate import curve, simulate
from ._trace import Trace, open

__all__ = [
    "Cache",
    "CacheInfo",
    "Error",
    "Parameter",
    "Policy",
    "Results",
    "Trace",
    "__version__",
    "cached",
    "curve",
    "open",
    "policies",
    "simulate",
]
