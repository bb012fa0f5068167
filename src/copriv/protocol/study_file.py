"""The study file: the terms and the dictionary as TOML that learner and owners read alike.

People read and edit the text; what counts is its canonical form. Sections, order, spacing and comments do not change
the digest of the terms, any value does. The dictionary is passed on as it is: only owners know what to do with it. What
is said of the public rows is for owners, too: they compare their own with it, at home.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from copriv.errors import BadInput
from copriv.protocol.public_summary import PublicSummary
from copriv.protocol.terms import Terms

_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "study": ("format", "name", "learner", "records", "public_rows", "public_source"),
    "model": ("loss", "threshold", "parameters", "regularization", "limit", "row_norm", "target_bound"),
    "privacy": (
        "epsilon",
        "delta",
        "answers",
        "shares",
        "kinds",
        "fill",
        "axes",
        "clip",
        "unit",
        "person",
        "rows_cap",
        "weigh",
    ),
    "learning": ("rule", "asks", "mechanisms", "horizon", "step", "central"),
    "meetings": ("meeting", "clock"),
    "evaluation": ("evaluations", "evaluation_share", "loss_bound"),
    "validation": ("held_back", "validations", "validation_share", "validation_grid"),
}
_HEADER = """# The terms of a copriv study. Learner and owners hold the same file; its hash travels with every message.
# Unit of privacy: {unit}. Adjacency: replace one. Every owner promises its own epsilon; the one here is asked for.
"""


class StudyFile(msgspec.Struct, frozen=True):
    """Terms, the dictionary and what is said of the public rows; the terms have the digests of both."""

    terms: Terms
    dictionary: dict[str, Any]
    public: PublicSummary | None = None


def dictionary_digest(dictionary: object) -> str:
    """SHA-256 of a dictionary's canonical form, or a summary's, whether it is a struct or was read from a file."""
    plain = msgspec.to_builtins(dictionary)
    return hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()


def write_study(study: StudyFile) -> str:
    """The text of a study file.

    >>> read_study(write_study(_EXAMPLE)) == _EXAMPLE
    True
    """
    import tomli_w

    values = study.terms.spelled()
    sections: dict[str, Any] = {
        section: {name: values[name] for name in names if name in values} for section, names in _SECTIONS.items()
    }
    public = {} if study.public is None else {"public": msgspec.to_builtins(study.public)}
    header = _HEADER.format(unit=study.terms.unit_in_words)
    return header + "\n" + tomli_w.dumps(sections | public | {"dictionary": msgspec.to_builtins(study.dictionary)})


def read_study(text: str) -> StudyFile:
    """Read a study file, or say what is wrong with it and where."""
    import tomllib

    try:
        sections = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # no TOML, an integer of thousands of digits, nested brackets
        raise BadInput(f"the study file is not TOML: {problem}", remedy="correct that line") from problem
    dictionary = sections.pop("dictionary", None)
    if not isinstance(dictionary, dict):
        raise BadInput("the study file has no [dictionary]", remedy="take one that `copriv learner draft` has written")
    public = sections.pop("public", None)
    values = {"format": 0} | dict(_values(sections)) | {"dictionary": dictionary_digest(dictionary)}
    try:
        summary = None if public is None else msgspec.convert(public, PublicSummary)
        said = {} if summary is None else {"summary": dictionary_digest(summary)}
        terms = msgspec.convert(values | said, Terms)
    except (msgspec.ValidationError, OverflowError) as problem:
        raise BadInput(f"the study file: {problem}", remedy="correct that value") from problem
    if summary is not None:
        summary.require_parameters(terms.parameters)
    return StudyFile(terms, dictionary, summary)


def _values(sections: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every value of every section, none of them unknown."""
    for section, content in sections.items():
        if section not in _SECTIONS or not isinstance(content, dict):
            raise BadInput(
                f"the study file has a section {section!r}", remedy=f"use {', '.join(_SECTIONS)}", value=section
            )
        for name, value in content.items():
            if name in _SECTIONS[section]:
                yield name, value
            else:
                raise BadInput(
                    f"the study file has {name!r} in [{section}]",
                    remedy=f"[{section}] knows {', '.join(_SECTIONS[section])}",
                    value=name,
                )


_EXAMPLE = StudyFile(
    Terms(
        loss="squared",
        threshold=0.0,
        parameters=2,
        regularization=1e-5,
        limit=2.0,
        clip=0.5,
        row_norm=1.0,
        target_bound=1.0,
        rule="paper",
        horizon=10,
        step=0.1,
        central="proof",
        dictionary=dictionary_digest({"columns": []}),
        name="example",
    ),
    {"columns": []},
)
