"""The policies, with the descriptions of ``hotset policies``."""

from __future__ import annotations

from typing import NamedTuple

from . import _native


class Parameter(NamedTuple):
    """A parameter of a policy, as in ``2q(kin=30%)``."""

    name: str
    default: str
    takes: str
    doc: str


class Policy(NamedTuple):
    """A policy of the list. ``doc`` tells its idea, its paper, its costs, and when not to use it."""

    name: str
    family: str
    summary: str
    aliases: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    #: It must know the future: it can be simulated, but not run.
    offline: bool
    doc: str

    def __repr__(self) -> str:
        return f"<hotset.Policy {self.name}: {self.summary}>"


def policies() -> list[Policy]:
    """Every policy that a spec can name, in the order of the table."""
    told = _native.policies()
    return [
        Policy(
            **{
                **about,
                "aliases": tuple(about["aliases"]),
                "parameters": tuple(Parameter(**parameter) for parameter in about["parameters"]),
            }
        )
        for about in told
    ]
