"""`copriv train`: train a model across private owners on this machine."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

_DATA, _OWNERS, _PRIVACY, _LEARNING, _OUTPUT = "Data", "Owners", "Privacy", "Learning", "Output"


class LossName(StrEnum):
    """Losses to choose from."""

    squared = "squared"
    huber = "huber"
    logistic = "logistic"


class RuleName(StrEnum):
    """Rules to choose from."""

    auto = "auto"
    newton = "newton"
    statistics = "statistics"
    averaged = "averaged"
    paper = "paper"


class CentralName(StrEnum):
    """Central steps of Algorithm 1 to choose from."""

    proof = "proof"
    printed = "printed"


class AccountantName(StrEnum):
    """Accountants for guarantees with δ."""

    pld = "pld"
    zcdp = "zcdp"


class SyntheticName(StrEnum):
    """Generators to choose from."""

    lending = "lending"
    hospital = "hospital"


def _option(names: str, panel: str, help_text: str, metavar: str | None = None) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(names, rich_help_panel=panel, help=help_text, metavar=metavar)
    return option


def train(
    context: typer.Context,
    data: Annotated[
        Path | None, _option("--data", _DATA, "A CSV or Parquet table. Without it, synthetic records.")
    ] = None,
    target: Annotated[str | None, _option("--target", _DATA, "The column to predict.")] = None,
    public: Annotated[
        Path | None, _option("--public", _DATA, "A table of public rows, instead of the last rows of --data.")
    ] = None,
    public_rows: Annotated[int, _option("--public-rows", _DATA, "How many of the last rows are public.")] = 10_000,
    shuffle: Annotated[
        bool, _option("--shuffle", _DATA, "Shuffle the rows first (by --seed); synthetic rows always are.")
    ] = False,
    ordinal: Annotated[
        bool, _option("--ordinal", _DATA, "Number the sorted categories of a text target 1, 2, 3 …")
    ] = False,
    positive_above: Annotated[
        float | None, _option("--positive-above", _DATA, "For the logistic loss: targets above this are positive.")
    ] = None,
    study: Annotated[
        Path | None,
        _option("--study", _LEARNING, "Train under the terms of this study file, as `copriv plan` writes it."),
    ] = None,
    dictionary: Annotated[
        Path | None,
        _option("--dictionary", _DATA, "Features as a study file or a model.json has them, not from public rows."),
    ] = None,
    features: Annotated[int, _option("--features", _DATA, "Principal components to keep.")] = 10,
    synthetic: Annotated[
        SyntheticName, _option("--synthetic", _DATA, "Without --data: which records to generate.")
    ] = SyntheticName.lending,
    owner_column: Annotated[str | None, _option("--owner-column", _OWNERS, "The column that names the owners.")] = None,
    owners: Annotated[
        int | None, _option("--owners", _OWNERS, "Divide the private rows into this many blocks.")
    ] = None,
    min_records: Annotated[int, _option("--min-records", _OWNERS, "Leave out owners with fewer records.")] = 0,
    records_per_owner: Annotated[
        int | None, _option("--records-per-owner", _OWNERS, "Rows of each block, or the most rows of a named owner.")
    ] = None,
    rates: Annotated[
        Path | None, _option("--rates", _OWNERS, "File with the rate of each owner's clock (default: all alike).")
    ] = None,
    epsilon: Annotated[
        str | None,
        _option("--epsilon", _PRIVACY, "What each owner promises about any one record (default: 1).", "FLOAT"),
    ] = None,
    epsilons: Annotated[
        Path | None,
        _option("--epsilons", _PRIVACY, "File with an epsilon for each owner: one a line, owner,epsilon, or JSON."),
    ] = None,
    delta: Annotated[
        float, _option("--delta", _PRIVACY, "0 for pure epsilon (Laplace); above 0 for Gaussian noise.")
    ] = 0.0,
    accountant: Annotated[
        AccountantName, _option("--accountant", _PRIVACY, "With delta: how answers add up.")
    ] = AccountantName.pld,
    answers: Annotated[
        int | None,
        _option("--answers", _PRIVACY, "The most answers of an owner (default: what its clock will ask for, 99 %)."),
    ] = None,
    clip: Annotated[
        float | None,
        _option("--clip", _PRIVACY, "The most one record's gradient may count (default: from public rows)."),
    ] = None,
    simulate: Annotated[
        bool, _option("--simulate", _PRIVACY, "Seeded noise, ledgers in memory: repeatable, not private.")
    ] = False,
    loss: Annotated[LossName, _option("--loss", _LEARNING, "What a mistake costs.")] = LossName.squared,
    huber_threshold: Annotated[
        float, _option("--huber-threshold", _LEARNING, "Residual (target scaled to ±1) beyond which it grows linearly.")
    ] = 0.25,
    rule: Annotated[
        RuleName, _option("--rule", _LEARNING, "How answers become a model; auto: what should cost the least.")
    ] = RuleName.auto,
    horizon: Annotated[int, _option("--horizon", _LEARNING, "How many meetings (T), for the paper's rule.")] = 1000,
    step: Annotated[float | None, _option("--step", _LEARNING, "The rule's step (default: from public rows).")] = None,
    rho: Annotated[float | None, _option("--rho", _LEARNING, "The paper's rho instead of a step.")] = None,
    central: Annotated[
        CentralName, _option("--central", _LEARNING, "Central step: of the paper's proof, or as printed.")
    ] = CentralName.proof,
    regularization: Annotated[
        float, _option("--regularization", _LEARNING, "Weight of the squared length of the model.")
    ] = 1e-5,
    box: Annotated[
        float | None, _option("--box", _LEARNING, "Largest size of a model's number (default: from public rows).")
    ] = None,
    schedule: Annotated[
        Path | None, _option("--schedule", _LEARNING, "Replay the schedule.json of another run.")
    ] = None,
    seed: Annotated[
        int | None, _option("--seed", _LEARNING, "Seeds schedule, shuffle and pilot; noise on records is never seeded.")
    ] = None,
    ledgers: Annotated[
        Path | None,
        _option(
            "--ledgers", _PRIVACY, "Folder of ledgers shared by runs on the same records (default: in the run folder)."
        ),
    ] = None,
    budget: Annotated[
        str | None,
        _option(
            "--budget", _PRIVACY, "The most the records of --data may lose in all runs; beyond is refused.", "FLOAT"
        ),
    ] = None,
    version_of: Annotated[
        Path | None,
        _option("--version-of", _PRIVACY, "--data holds the same records as this ledger's, so they share its budget."),
    ] = None,
    unrelated: Annotated[
        bool, _option("--unrelated", _PRIVACY, "--data looks like known records, and has none of them: you sign off.")
    ] = False,
    resume: Annotated[
        Path | None,
        _option("--resume", _OUTPUT, "Go on with the interrupted run in this folder; other options are its own."),
    ] = None,
    out: Annotated[Path | None, _option("--out", _OUTPUT, "The run folder (default: runs/ and the time).")] = None,
    as_json: Annotated[bool, _option("--json", _OUTPUT, "Print one JSON object instead of the table.")] = False,
) -> None:
    """Train one model across private owners.

    Without arguments: ten synthetic banks with 10,000 loans each train a model of the interest rate; each bank promises
    epsilon = 1 for any one loan (replace-one), adds its own noise and keeps its own ledger.

    The rule is the one that should cost the least, judged on public rows: mostly `newton`, which asks each bank once or
    twice. The paper's Algorithm 1 is `--rule paper`.

    With your own table, say what to predict and who owns which rows:

        copriv train --data loans.csv --target int_rate --owner-column addr_state --min-records 500 --epsilon 10

    The last 10,000 rows are taken as public: they fit the features, the clip and the step. Nothing else does.

    Under terms that are agreed already (all rows are private then, and the public ones lie beside the study file):

        copriv train --study study.toml --data loans.csv --owner-column bank
    """
    from copriv.cli.train_job import run_job
    from copriv.cli.train_options import TrainOptions

    run_job(
        TrainOptions(
            data=data,
            target=target,
            public=public,
            public_rows=public_rows,
            shuffle=shuffle,
            ordinal=ordinal,
            positive_above=positive_above,
            dictionary=dictionary,
            features=features,
            synthetic=synthetic.value,
            owner_column=owner_column,
            owners=owners,
            min_records=min_records,
            records_per_owner=records_per_owner,
            rates=rates,
            epsilon=epsilon,
            epsilons=epsilons,
            delta=delta,
            accountant=accountant.value,
            answers=answers,
            clip=clip,
            simulate=simulate,
            loss=loss.value,
            huber_threshold=huber_threshold,
            rule=rule.value,
            horizon=horizon,
            step=step,
            rho=rho,
            central=central.value,
            regularization=regularization,
            box=box,
            schedule=schedule,
            seed=seed,
            out=out,
            ledgers=ledgers,
            as_json=as_json,
            study=study,
            budget=budget,
            version_of=version_of,
            unrelated=unrelated,
        ),
        resume,
        tuple(name for name in context.params if _is_given(context, name)),
    )


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether the user has typed an option, be it with its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
