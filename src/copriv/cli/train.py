"""`copriv train`: train a model across private owners on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from copriv.cli.command import option, takes
from copriv.cli.options import (
    DATA,
    LEARNING,
    OUTPUT,
    OWNERS,
    PRIVACY,
    RULES,
    AccountantName,
    Agreed,
    AsJson,
    FileOptions,
    Losing,
    Promising,
    Reading,
    Seeded,
    Validating,
)


@dataclass(frozen=True, kw_only=True)
class _Tables:
    data: Annotated[Path | None, option("--data", DATA, "A table of records. Without it, synthetic records.")] = None
    public: Annotated[
        Path | None, option("--public", DATA, "A table of public rows, instead of the last rows of --data.")
    ] = None
    public_rows: Annotated[
        int | None,
        option("--public-rows", DATA, "How many of the last rows are public (default: a fifth, from 100 to 10,000)."),
    ] = None
    shuffle: Annotated[
        bool, option("--shuffle", DATA, "Shuffle the rows first (by --seed); synthetic rows always are.")
    ] = False
    dictionary: Annotated[
        Path | None,
        option("--dictionary", DATA, "Features as a study file or a model.json has them, not from public rows."),
    ] = None
    synthetic: Annotated[
        Literal["lending", "hospital"], option("--synthetic", DATA, "Without --data: which records to generate.")
    ] = "lending"


@dataclass(frozen=True, kw_only=True)
class _Dividing:
    owner_column: Annotated[str | None, option("--owner-column", OWNERS, "The column that names the owners.")] = None
    owners: Annotated[int | None, option("--owners", OWNERS, "Divide the private rows into this many blocks.")] = None
    min_records: Annotated[int, option("--min-records", OWNERS, "Leave out owners with fewer records.")] = 0
    records_per_owner: Annotated[
        int | None, option("--records-per-owner", OWNERS, "Rows of each block, or the most rows of a named owner.")
    ] = None
    rates: Annotated[
        Path | None, option("--rates", OWNERS, "File with the rate of each owner's clock (default: all alike).")
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Protecting:
    epsilons: Annotated[
        Path | None,
        option("--epsilons", PRIVACY, "File with an epsilon for each owner: one a line, owner,epsilon, or JSON."),
    ] = None
    accountant: Annotated[AccountantName, option("--accountant", PRIVACY, "With delta: how answers add up.")] = "pld"
    answers: Annotated[
        int | None,
        option("--answers", PRIVACY, "The most answers of an owner (default: what its clock will ask for, 99 %)."),
    ] = None
    clip: Annotated[
        float | None,
        option("--clip", PRIVACY, "The most one record's gradient may count (default: from public rows)."),
    ] = None
    simulate: Annotated[
        bool, option("--simulate", PRIVACY, "Seeded noise, ledgers in memory: repeatable, not private.")
    ] = False
    ledgers: Annotated[
        Path | None,
        option("--ledgers", PRIVACY, "Folder of ledgers shared by runs on the same records (default: the run folder)."),
    ] = None
    budget: Annotated[
        str | None,
        option("--budget", PRIVACY, "The most the records of --data may lose in all runs; beyond is refused.", "FLOAT"),
    ] = None
    version_of: Annotated[
        Path | None,
        option("--version-of", PRIVACY, "--data holds the same records as this ledger's, so they share its budget."),
    ] = None
    unrelated: Annotated[
        bool, option("--unrelated", PRIVACY, "--data looks like known records, and has none of them: you sign off.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class _Learning:
    rule: Annotated[
        str, option("--rule", LEARNING, "How answers become a model; auto: what should cost the least.", RULES)
    ] = "auto"
    horizon: Annotated[int, option("--horizon", LEARNING, "How many meetings (T), for the paper's rule.")] = 1000
    step: Annotated[float | None, option("--step", LEARNING, "The rule's step (default: from public rows).")] = None
    rho: Annotated[float | None, option("--rho", LEARNING, "The paper's rho instead of a step.")] = None
    central: Annotated[
        Literal["proof", "printed"], option("--central", LEARNING, "Central step: of the paper's proof, or as printed.")
    ] = "proof"
    box: Annotated[
        float | None, option("--box", LEARNING, "Largest size of a model's number (default: from public rows).")
    ] = None
    schedule: Annotated[Path | None, option("--schedule", LEARNING, "Replay the schedule.json of another run.")] = None


@dataclass(frozen=True, kw_only=True)
class _Keeping:
    resume: Annotated[
        Path | None,
        option("--resume", OUTPUT, "Go on with the interrupted run in this folder; other options are its own."),
    ] = None
    out: Annotated[Path | None, option("--out", OUTPUT, "The run folder (default: runs/ and the time).")] = None


@dataclass(frozen=True, kw_only=True)
class Training(
    Seeded, _Learning, Losing, Agreed, Validating, _Protecting, Promising, _Dividing, FileOptions, Reading, _Tables
):
    """What a training is asked to be; `copriv sweep` varies these."""


@dataclass(frozen=True, kw_only=True)
class TrainOptions(AsJson, _Keeping, Training):
    """The options of `copriv train`."""


@takes(TrainOptions)
def train(options: TrainOptions, given: tuple[str, ...]) -> None:
    """Train one model across private owners.

    Without arguments: ten synthetic banks with 10,000 loans each train a model of the interest rate; each bank promises
    epsilon = 1 for any one loan (replace-one), adds its own noise and keeps its own ledger.

    The rule is the one that should cost the least, judged on public rows: mostly `newton`, which asks each bank once or
    twice. The paper's Algorithm 1 is `--rule paper`.

    With your own table, say what to predict and who owns which rows:

        copriv train --data loans.csv --target int_rate --owner-column addr_state --min-records 500 --epsilon 10

    The last rows, a fifth and at most 10,000, are taken as public: they fit the features, the clip and the step.
    Nothing else does.

    Under terms that are agreed already (all rows are private then, and the public ones lie beside the study file):

        copriv train --study study.toml --data loans.csv --owner-column bank

    With --validate 0.2 a fifth of every budget tells how good the model is, on records that do not train.
    """
    import msgspec
    import typer
    from rich.console import Console

    from copriv.api.train import carry_out
    from copriv.cli.person import person
    from copriv.report.progress import Teller
    from copriv.report.table import show
    from copriv.report.validation_table import show_validation
    from copriv.runtime.local_folder import time_now
    from copriv.runtime.local_load import Sources
    from copriv.runtime.local_request import TrainRequest
    from copriv.runtime.local_run import begin, reopen

    console = Console(stderr=True)
    with Teller(console) as tell:
        asked = person(console, tell.pause)
        if options.resume is not None:
            job = reopen(options.resume, Sources(), asked, tell)
        else:
            known = {name: getattr(options, name) for name in TrainRequest.__struct_fields__ if hasattr(options, name)}
            left_open = {name: None for name in ("epsilon", "seed") if name not in given}
            settled = {"skip": tuple(options.skip or ()), "out": options.out or Path("runs") / time_now()}
            job = begin(TrainRequest(**(known | settled | left_open)), Sources(), given, asked, tell)
        result = carry_out(job).result
    if options.as_json:
        found = {} if result.facts.validation is None else {"validation": msgspec.to_builtins(result.facts.validation)}
        typer.echo(msgspec.json.encode(msgspec.to_builtins(result.figures) | found).decode())
    else:
        show_validation(result.facts.validation, Console())
        show(result.figures, Console())
