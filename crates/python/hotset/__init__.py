"""Measure, decide and run storage caches that know what they hold.

``open`` reads a trace or takes an array as one; ``simulate`` replays it under policies at sizes, ``curve`` draws hit
ratios at every size, ``inspect`` tells what is in it. ``Cache`` and ``cached`` run the same policies on values of your
own; ``policies`` lists them, ``check`` holds one of your own against them.
"""

from ._cached import CacheInfo, cached
from ._check import Difference, PythonPolicy, check
from ._native import Cache, Error, __version__
from ._policies import Parameter, Policy, policies
from ._results import Results
from ._simulate import curve, inspect, simulate
from ._trace import Trace, open

__all__ = [
    "Cache",
    "CacheInfo",
    "Difference",
    "Error",
    "Parameter",
    "Policy",
    "PythonPolicy",
    "Results",
    "Trace",
    "__version__",
    "cached",
    "check",
    "curve",
    "inspect",
    "open",
    "policies",
    "simulate",
]
