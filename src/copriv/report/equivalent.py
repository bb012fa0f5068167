"""The command line and the Python that ask for the same run again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from copriv.runtime.local_request import TrainRequest

_TABLE = "TABLE"
# Where a run is kept and charged is the matter of whoever runs it; the rest has no option of its own.
_HOUSEKEEPING = ("out", "ledgers", "budget", "version_of", "unrelated")
_UNSAID = ("in_memory", "given_rates", "shuffle_seed")
_READING = (
    *("skip", "features", "public_rows", "shuffle", "ordinal", "positive_above", "positive", "encoding", "delimiter"),
    *("decimal", "dates", "dictionary", "min_records", "records_per_owner"),
)
_NAMED = ("data", "target", "public", "owner_column", "owners", "synthetic", "epsilon", "epsilons")
STUDY_COMMAND = (
    "copriv learner init study.toml\n"
    "copriv learner run\n"
    "# a rehearsal on one machine, where all records are at hand:\n"
    "copriv train --study study.toml --data TABLE --owner-column OWNER"
)
STUDY_PYTHON = (
    "import copriv as cp\n\n"
    '# a rehearsal on one machine, where all records are at hand\ndata = cp.read("TABLE", owners="OWNER")\n'
    'run = cp.train(data, study="study.toml")'
)


def command_of(request: TrainRequest, *, whole: bool = False) -> str:
    """The command line of a run.

    Args:
        request: what it was asked to be.
        whole: with paths as they were given and with housekeeping; else with the names of files only.

    >>> command_of(TrainRequest(data=Path("/data/loans.csv"), target="int_rate", owner_column="bank", epsilon="1"))
    'copriv train --data loans.csv --target int_rate --owner-column bank --epsilon 1'
    """
    words = ["copriv", "train"]
    if request.in_memory:
        words += ["--data", _TABLE]
    for name, value in _said(request, whole=whole).items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
            continue
        for each in value if isinstance(value, tuple) else (value,):
            words += [option, _written(each)]
    return shlex.join(words)


def python_of(request: TrainRequest) -> str:
    """The same from Python; files by their names.

    >>> print(python_of(TrainRequest(data=Path("/d/loans.csv"), target="int_rate", owner_column="bank", epsilon="1")))
    import copriv as cp
    <BLANKLINE>
    data = cp.read('loans.csv', target='int_rate', owners='bank')
    run = cp.train(data, epsilon=1)
    """
    said = _said(request, whole=False)
    source, public = said.get("data"), said.get("public")
    synthetic = source is None and not request.in_memory
    read = {"target": request.target, "owners": request.owner_column or request.owners, "public": public}
    read |= {name: said[name] for name in _READING if name in said}
    train = {name: value for name, value in said.items() if name not in (*_NAMED, *_READING)}
    train |= {} if request.given_rates is None else {"rates": request.given_rates}
    epsilon = _number(request.epsilon) if request.epsilon is not None else said.get("epsilons")
    train = ({} if epsilon is None else {"epsilon": epsilon}) | train
    if synthetic:
        source = f"{request.synthetic}.parquet"
        target = {"lending": "int_rate", "hospital": "Length of Stay"}[request.synthetic]
        read |= {"target": request.target or target, "owners": read["owners"] or 10}
    head = f"# first: copriv generate {request.synthetic} --out {source}\n" if synthetic else ""
    return (
        f"import copriv as cp\n\n{head}data = cp.read({', '.join([repr(source or _TABLE), *_pairs(read)])})\n"
        f"run = cp.train({', '.join(['data', *_pairs(train)])})"
    )


def _said(request: TrainRequest, *, whole: bool) -> dict[str, Any]:
    """What differs from the defaults, in the order in which people say it."""
    first = ("data", "target", "public", "owner_column", "owners", "epsilon", "epsilons", "delta", "features")
    plain = TrainRequest()
    names = [*first, *(name for name in TrainRequest.__struct_fields__ if name not in first)]
    hidden = _UNSAID if whole else (*_UNSAID, *_HOUSEKEEPING)
    said = {}
    for name in names:
        value = getattr(request, name)
        if name in hidden or value == getattr(plain, name) or (name == "seed" and value == 0):
            continue
        said[name] = value if whole else _by_name(value)
    return said


def _by_name(value: object) -> object:
    """A path's last part; everything else as it is."""
    return value.name if isinstance(value, Path) else value


def _written(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, dict):
        return "FILE"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _pairs(values: dict[str, Any]) -> list[str]:
    return [f"{name}={_value(value)}" for name, value in values.items() if value is not None]


def _value(value: object) -> str:
    return repr(str(value)) if isinstance(value, Path) else repr(list(value) if isinstance(value, tuple) else value)


def _number(epsilon: object) -> object:
    """ε as a number where it is one; a mapping and a list have numbers, too."""
    if isinstance(epsilon, dict):
        return {name: _number(value) for name, value in epsilon.items()}
    if isinstance(epsilon, list):
        return [_number(value) for value in epsilon]
    parts = str(epsilon).split(",")
    if len(parts) > 1:
        return [_number(part) for part in parts]
    value = float(parts[0])
    return int(value) if value == int(value) else value
