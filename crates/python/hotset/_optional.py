"""Optional packages, imported when their features are used."""

from __future__ import annotations

import importlib
from typing import Any


def bring(module: str, wanted: str, by: str) -> Any:
    """A module that ``wanted`` needs, and that ``pip install`` brings by this name if it is missing."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # It may be there, and lack something itself.
        if (error.name or "").partition(".")[0] != package:
            raise
        message = f'{wanted} needs {package}, which is not installed: pip install "{by}"'
        raise ModuleNotFoundError(message, name=package) from None
