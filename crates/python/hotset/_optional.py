"""Packages that are used where somebody asks for what they give."""

from __future__ import annotations

import importlib
from typing import Any


def bring(module: str, wanted: str, by: str) -> Any:
    """A module that ``wanted`` needs, and that ``pip install`` brings by this name if it is missing."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        message = f'{wanted} needs {error.name}, which is not installed: pip install "{by}"'
        raise ModuleNotFoundError(message, name=error.name) from None
