"""Errors are Python's exceptions with the command's sentences, in which options are keyword arguments."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hotset
import numpy as np
import pytest

Workload = Callable[[str], str]

#: Keyword arguments whose names are not those of the options.
ARGUMENTS = {"policy": "policies", "size": "sizes", "from": "from_"}


def in_python(sentence: str) -> str:
    """A sentence of the command with keyword arguments in place of options. Words are values where they are proposed."""

    def spelt(option: re.Match[str]) -> str:
        name = option[1].replace("-", "_")
        return f"{ARGUMENTS.get(name, name)}=" + (f'"{option[2]}"' if option[2] else "")

    return re.sub(r"--([a-z-]+)(?: (all|lru)\b)?", spelt, sentence)

REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"policies": "lrv"}, ["--policy", "lrv", "--size", "10 blocks"]),
    ({"policies": "lru,2q(kin=200%)"}, ["--policy", "lru,2q(kin=200%)", "--size", "10 blocks"]),
    ({"policies": "lru,"}, ["--policy", "lru,", "--size", "10 blocks"]),
    ({"policies": "lru", "sizes": "ten"}, ["--policy", "lru", "--size", "ten"]),
    ({"policies": "lru", "sizes": "0 blocks"}, ["--policy", "lru", "--size", "0 blocks"]),
    ({"policies": "lru", "sizes": -1}, ["--policy", "lru", "--size", "-1 blocks"]),
    ({"policies": "lru", "sizes": 1 << 70}, ["--policy", "lru", "--size", f"{1 << 70} blocks"]),
    ({"policies": "lru", "sizes": "1%..0%*2"}, ["--policy", "lru", "--size", "1%..0%*2"]),
    ({"app": "nobody"}, ["--app", "nobody"]),
    ({"app": "["}, ["--app", "["]),
    ({"to": 0}, ["--to", "0"]),
    ({"store": "tape"}, ["--store", "tape"]),
    ({"policies": "opt", "memory": "64K", "sizes": "10 blocks"}, ["--policy", "opt", "--memory", "64K", "--size", "10 blocks"]),
]

#: What the parser of the command line says within a sentence of its own.
WORDS: list[tuple[dict[str, Any], list[str]]] = [
    ({"block": "0"}, ["--block", "0"]),
    ({"block": "big"}, ["--block", "big"]),
    ({"memory": "much"}, ["--memory", "much"]),
    ({"warmup": "100%"}, ["--warmup", "100%"]),
    ({"ops": "walks"}, ["--ops", "walks"]),
    ({"from_": "noon"}, ["--from", "noon"]),
    ({"count_only": "colour=red"}, ["--count-only", "colour=red"]),
    ({"every": "0s"}, ["--series", "/dev/null", "--every", "0s"]),
]


@pytest.mark.parametrize(("options", "typed"), REFUSED)
def test_sentences_are_the_command_s(
    options: dict[str, Any], typed: list[str], command: Any, workload: Workload
) -> None:
    with pytest.raises(hotset.Error) as raised:
        hotset.simulate(workload("tpcc"), **options)
    assert f"hotset: {raised.value}\n" == in_python(command.refusal("simulate", workload("tpcc"), *typed))
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize(("options", "typed"), WORDS)
def test_sentences_about_words_are_the_command_s(
    options: dict[str, Any], typed: list[str], command: Any, workload: Workload
) -> None:
    with pytest.raises(hotset.Error) as raised:
        hotset.simulate(workload("tpcc"), **options)
    option, sentence = str(raised.value).split(": ", 1)
    assert option == in_python(typed[-2]) and sentence in command.refusal("simulate", workload("tpcc"), *typed)


@pytest.mark.parametrize(
    ("options", "typed"),
    [
        ({"points": "all", "policies": "arc"}, ["--points", "all", "--policy", "arc"]),
        ({"sample": 0.5, "policies": "opt"}, ["--sample", "0.5", "--policy", "opt"]),
        ({"sample": 0.5, "policies": "lru", "warmup": "5%"}, ["--sample", "0.5", "--policy", "lru", "--warmup", "5%"]),
    ],
)
def test_curves_refuse_in_the_same_words(
    options: dict[str, Any], typed: list[str], command: Any, workload: Workload
) -> None:
    with pytest.raises(hotset.Error) as raised:
        hotset.curve(workload("lu"), **options)
    assert f"hotset: {raised.value}\n" == in_python(command.refusal("curve", workload("lu"), *typed))


def test_settings_in_sentences_are_keyword_arguments(workload: Workload, tmp_path: Path) -> None:
    with pytest.raises(hotset.Error, match="raise memory=, or leave the policy out$"):
        hotset.simulate(workload("tpcc"), "opt", "10 blocks", memory="64K")
    with pytest.raises(hotset.Error, match='^points="all": arc must be'):
        hotset.curve(workload("lu"), "arc", points="all")
    with pytest.raises(hotset.Error, match='expected policies="lru"$'):
        hotset.curve(workload("lu"), "opt", sample=0.5)
    bad = tmp_path / "places.csv"
    bad.write_text("host,disk id,offset,size\n1,2,3,4\n")
    with pytest.raises(hotset.Error, match='one object .columns="host:app,disk id,offset,size".'):
        hotset.open(bad)


def test_files_that_are_no_traces(command: Any, tmp_path: Path) -> None:
    empty, bad, absent, classes = (tmp_path / name for name in ("empty", "bad.csv", "absent", "classes.toml"))
    empty.write_text("")
    bad.write_text("offset,size\n0,4096\nx,4096\n")
    classes.write_text("[[class]]\nname = 7\n")
    for path, kind in ((empty, hotset.Error), (absent, FileNotFoundError)):
        with pytest.raises(kind) as raised:
            hotset.open(path)
        assert f"hotset: {raised.value}\n" == in_python(command.refusal("simulate", path))
    with pytest.raises(hotset.Error) as raised:
        hotset.simulate(bad, "lru", 1)
    assert f"hotset: {raised.value}\n" == command.refusal("simulate", bad, "--policy", "lru", "--size", "1 blocks")
    with pytest.raises(hotset.Error) as raised:
        hotset.simulate([1, 2], "lru", 1, classes=classes)
    (tmp_path / "ids").write_text("1\n2\n")
    typed = ["--format", "ids", "--policy", "lru", "--size", "1 blocks", "--classes", classes]
    assert f"hotset: {raised.value}\n" == command.refusal("simulate", tmp_path / "ids", *typed)
    with pytest.raises(hotset.Error) as raised:
        hotset.open(bad, format="xml")
    assert f"hotset: {raised.value}\n" == in_python(command.refusal("simulate", bad, "--format", "xml"))


@pytest.mark.parametrize(
    ("keys", "kind", "says"),
    [
        (np.array([1.5]), TypeError, "float64"),
        (["a", "b"], TypeError, "whole numbers"),
        ("abc", FileNotFoundError, "abc"),
        (7, TypeError, "iterable"),
        (np.array([1, -1]), ValueError, "-1"),
        ([-1, 1 << 63], ValueError, "-1"),
        ([1 << 64], ValueError, "2\\*\\*64"),
        (np.zeros((2, 3), np.uint64), ValueError, "dimensions"),
        (np.array(["x"], dtype=object), TypeError, "object"),
    ],
)
def test_arrays_that_are_no_keys(keys: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        hotset.open(keys)
    if not isinstance(keys, str):
        with pytest.raises(kind, match=says):
            hotset.Cache("lru", 10).access_many(keys)


def test_arrays_at_their_ends() -> None:
    empty: Any
    for empty in ([], np.array([]), np.array([], np.uint8)):
        assert len(hotset.open(empty)) == 0 and len(hotset.open(empty).to_numpy()) == 0
        with pytest.raises(hotset.Error, match="array: no request in the trace reads or writes data"):
            hotset.simulate(empty, "lru", 1)
        assert len(hotset.Cache().access_many(empty)) == 0
    largest = [(1 << 64) - 1, 0, (1 << 64) - 1]
    assert hotset.open(largest).to_numpy()["offset"].tolist() == largest
    assert hotset.simulate(largest, "lru", 2)[0]["hits"] == 1
    with pytest.raises(ValueError, match="2 keys and 1 sizes"):
        hotset.open([1, 2], [1])
    with pytest.raises(ValueError, match="4294967295"):
        hotset.open([1], [1 << 32])


@pytest.mark.parametrize("kind", ["<u8", ">u8", "<i8", ">i8", "<i4", "u1"])
def test_arrays_of_any_type_of_whole_numbers_are_the_same_keys(kind: str) -> None:
    keys = np.array([5, 0, 1, 0, 5, 0, 100, 0, 5], dtype=kind)
    for array in (keys[::2], keys[::2].copy()):
        assert hotset.Cache("lru", 10).access_many(array).tolist() == [False, False, True, False, True]
        assert hotset.open(array).to_numpy()["offset"].tolist() == [5, 1, 5, 100, 5]
    assert keys.dtype == np.dtype(kind), "the array is as it was"


def test_caches_that_cannot_be() -> None:
    with pytest.raises(hotset.Error, match="of 134217728 at most"):
        hotset.Cache("lru", 1 << 31)
    for size in (0, 1 << 32, 1 << 63):
        with pytest.raises(hotset.Error, match=f"a cache of {size} values is not possible; expected 1 to 2147483648"):
            hotset.Cache("lru", size)
    with pytest.raises(hotset.Error, match="did you mean lru"):
        hotset.Cache("lrv", 10)
    with pytest.raises(hotset.Error, match="opt must know the future"):
        hotset.Cache("opt", 10)
    with pytest.raises((OverflowError, TypeError)):
        hotset.Cache("lru", -1)
    cache = hotset.Cache("lru", 10)
    with pytest.raises(hotset.Error, match="a cache of 0 values"):
        cache.resize(0)
    with pytest.raises(TypeError, match="unhashable"):
        cache.access([])
    with pytest.raises(KeyError):
        cache[1]


@pytest.mark.parametrize(
    ("module", "call", "sentence"),
    [
        ("matplotlib", "plot", 'plot needs matplotlib, which is not installed: pip install "hotset[plot]"'),
        ("pandas", "to_pandas", 'to_pandas needs pandas, which is not installed: pip install "hotset[pandas]"'),
        ("pyarrow", "to_arrow", 'to_arrow needs pyarrow, which is not installed: pip install "hotset[arrow]"'),
    ],
)
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, module: str, call: str, sentence: str) -> None:
    results = hotset.simulate([1, 2, 1], "lru", 2)
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError) as error:
        getattr(results, call)()
    assert str(error.value) == sentence
