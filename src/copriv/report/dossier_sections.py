"""What a dossier says, part by part: words without figures, and figures with their sources."""

from __future__ import annotations

from copriv.learner.validation import FIGURES
from copriv.report.dossier import Dossier, Entry, Section, SignOff, Sources

_MODEL, _PRIVACY, _REPORT, _SCHEDULE = "model.json", "privacy.json", "report.json", "schedule.json"
_ROLES = (SignOff("model owner"), SignOff("independent validator"), SignOff("data protection officer"))
_QUALITY = {"r2": "R²", "rmse": "RMSE", "mae": "MAE", "auc": "AUC", "log_loss": "log-loss", "accuracy": "right labels"}
_SEVERAL = {
    "record": "A person with several records, or with records at several owners: the promises of all of them add up.",
    "person": "A person at several owners: the promises of all of them add up.",
}
_NOT_COVERED = (
    "What the model truly says about everybody, such as that smokers fall ill more often: no privacy keeps that back.",
    "An owner's machine that is broken into, or an owner that lies to itself about its records or its registry.",
    "How long answers take, and whether an owner is reachable.",
    "Figures measured on records: they are not private, and stay in report-internal.html and run.json.",
    "Public rows: nothing protects them.",
    "Records unlike those of the owners, such as those of later years: figures are for the population that was asked.",
)
_LIMITS = (
    (
        "The model is linear in its features. It predicts as well as the figures below say, for records like those of "
        "the owners, and is no ground for decisions about a single person without a person who looks."
    ),
)


def make_dossier(sources: Sources, purpose: str = "", sign_offs: tuple[SignOff, ...] = ()) -> Dossier:
    """The dossier of a run.

    Args:
        sources: its files.
        purpose: what the model is for, in the words of whoever is responsible.
        sign_offs: who has signed; without, empty lines for the usual roles.
    """
    name = str(sources.find(_PRIVACY, "/study") or "a study")
    return Dossier(
        title=f"{sources.find(_MODEL, '/dictionary/target/name')}: {name}",
        private=bool(sources.find(_PRIVACY, "/private")),
        date=str(sources.find(_PRIVACY, "/date") or ""),
        sections=(
            _card(sources),
            Section("Purpose and limits", (purpose or "The purpose has not been stated.", *_LIMITS)),
            _lineage(sources),
            _challengers(sources),
            *_validated(sources),
            _risk(sources),
            Section("What is not covered", (_SEVERAL[_unit(sources)], *_NOT_COVERED)),
        ),
        files=sources.seals(),
        sign_offs=sign_offs or _ROLES,
    )


def _unit(sources: Sources) -> str:
    """What is protected as one: a record, unless the terms say that it is a person."""
    return "person" if sources.find(_MODEL, "/terms/unit") == "person" else "record"


def _card(sources: Sources) -> Section:
    named = {
        "target": "/dictionary/target/name",
        "loss": "/terms/loss",
        "rule": "/terms/rule",
        "numbers in the model": "/terms/parameters",
        "weight of the squared length": "/terms/regularization",
        "largest size of a number": "/terms/limit",
        "clip": "/terms/clip",
        "noise": "/noise",
    }
    return Section("Model card", entries=_all(sources, _MODEL, named))


def _lineage(sources: Sources) -> Section:
    owners = range(len(sources.find(_PRIVACY, "/owners") or ()))
    records, counted = [f"/owners/{place}/records" for place in owners], {"record": "records", "person": "people"}
    answers = [f"/owners/{place}/answers" for place in owners]
    entries = [
        *sources.derived("owners", "count", _PRIVACY, ["/owners"]),
        *sources.derived(f"{counted[_unit(sources)]} that trained", "sum", _PRIVACY, records),
        *sources.derived("fewest of an owner", "smallest", _PRIVACY, records),
        *sources.derived("most of an owner", "largest", _PRIVACY, records),
        *sources.derived("answers that were paid for", "sum", _PRIVACY, answers),
        *sources.derived("meetings", "count", _SCHEDULE, ["/meetings"]),
        *sources.entry("share of records held back", _MODEL, "/terms/held_back"),
        *sources.entry("public rows", _PRIVACY, "/public/rows"),
        *sources.entry("file of the public rows", _PRIVACY, "/public/source"),
        *sources.entry("terms, SHA-256", _PRIVACY, "/terms"),
        *sources.entry("features, SHA-256", _MODEL, "/terms/dictionary"),
    ]
    words = ("Records never left their owners. Features were fitted to public rows; answers left behind noise.",)
    return Section("Data lineage", words, tuple(entries))


def _challengers(sources: Sources) -> Section:
    """What other models should be worth beside this one, as far as that is known without a look at records."""
    named = {"joint": "this model, expected", "public": "public rows only", "alone": "own records only, median owner"}
    entries = [
        entry
        for kind, words in named.items()
        for figure, heading in _QUALITY.items()
        for entry in sources.entry(f"{heading}, {words}", _REPORT, f"/quality/{kind}/{figure}")
    ]
    distances = [
        *sources.entry("distance ψ from the best model, forecast", _REPORT, "/predicted/relative_fitness"),
        *sources.entry("the same, lower end", _REPORT, "/predicted/interval/0"),
        *sources.entry("the same, upper end", _REPORT, "/predicted/interval/1"),
    ]
    words = ("A model of all records pooled, without privacy, was measured on records, if at all: not told here.",)
    return Section("Challengers", words, (*entries, *distances))


def _validated(sources: Sources) -> list[Section]:
    """Figures on held-back records; nothing without a validation."""
    figures = sources.find(_REPORT, "/validation/figures")
    if not figures:
        return []
    ends = {"value": "", "interval/0": ", lower end", "interval/1": ", upper end"}
    entries = [
        entry
        for name in figures
        for place, words in ends.items()
        for entry in sources.entry(f"{FIGURES[name]}{words}", _REPORT, f"/validation/figures/{name}/{place}")
    ]
    level = sources.entry("level of the intervals", _REPORT, "/validation/level")
    words = ("On records held back from training, told by their owners behind noise; intervals for the population.",)
    return [Section("Validation", words, (*entries, *level))]


def _risk(sources: Sources) -> Section:
    """At the owner with the largest ε: what an attacker can do who knows everything but one record."""
    owners = sources.find(_PRIVACY, "/owners") or []
    place = max(range(len(owners)), key=lambda number: float(owners[number]["epsilon"]), default=0)
    pair = [f"/owners/{place}/epsilon", f"/owners/{place}/delta"]
    entries: list[Entry] = [
        *sources.entry("unit of privacy", _PRIVACY, "/unit"),
        *sources.entry("adjacency", _PRIVACY, "/adjacency"),
        *sources.entry("largest ε that an owner promised", _PRIVACY, pair[0]),
        *sources.entry("δ of that owner", _PRIVACY, pair[1]),
        *sources.entry("ε that it has spent", _PRIVACY, f"/owners/{place}/epsilon_spent"),
        *sources.derived("most that a guess can be right", "(e^ε + δ)/(1 + e^ε)", _PRIVACY, pair),
        *sources.derived("most hits, if few alarms are false", "hits at 1 % false alarms", _PRIVACY, pair),
        *sources.derived("most hits, if more are", "hits at 5 % false alarms", _PRIVACY, pair),
    ]
    words = (
        (
            "Think of an attacker who knows every record but one, all terms and answers, and asks which of two it was. "
            "If both seem equally likely before, its guess is right at most as often as said here; half would be blind."
        ),
        (
            "Hits are how often such an attacker finds a record that is there; false alarms how often it finds one "
            "that is not. No attack does better, whatever it computes."
        ),
    )
    return Section("Privacy as attack risk", words, tuple(entries))


def _all(sources: Sources, file: str, named: dict[str, str]) -> tuple[Entry, ...]:
    return tuple(entry for name, path in named.items() for entry in sources.entry(name, file, path))
