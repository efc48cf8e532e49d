"""Measure, decide and run storage caches that know what they hold.

``open`` reads a trace or takes an array as one, ``record`` and ``mix`` make traces. ``simulate`` replays one under
policies at sizes, ``sweep`` many, on a cluster if there is one, ``experiment`` what a file says; ``curve`` draws hit
ratios at every size, ``inspect`` tells what is in a trace, ``advise`` what to do. ``Cache`` and ``cached`` run the same
policies on values of your own; ``policies`` lists them, ``check`` holds one of your own against them. ``epoch``
announces to a mount in which order files will be read.
"""

from ._cached import CacheInfo, cached
from ._check import Difference, check
from ._epoch import epoch
from ._experiment import experiment
from ._making import Recording, mix, record
from ._native import Cache, Error, __version__
from ._own import PythonPolicy
from ._policies import Parameter, Policy, policies
from ._results import Results
from ._rows import Row
from ._simulate import advise, curve, inspect, simulate
from ._sweep import sweep
from ._trace import Trace, open

__all__ = [
    "Cache",
    "CacheInfo",
    "Difference",
    "Error",
    "Parameter",
    "Policy",
    "PythonPolicy",
    "Recording",
    "Results",
    "Row",
    "Trace",
    "__version__",
    "advise",
    "cached",
    "check",
    "curve",
    "epoch",
    "experiment",
    "inspect",
    "mix",
    "open",
    "policies",
    "record",
    "simulate",
    "sweep",
]
