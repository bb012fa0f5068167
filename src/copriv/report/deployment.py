"""A statement in the words of the registry of deployments of differential privacy (arXiv 2509.13509).

The names of sections and entries are the registry's, so that a statement can be entered there as it is. Entries that
only the people behind a study can fill (who publishes, why, for whom) are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import ADJACENCY, UNIT
from copriv.protocol.public_rows import PublicRows

Section: TypeAlias = dict[str, object]
Deployment: TypeAlias = dict[str, Section]

_PURE, _CONCENTRATED, _APPROXIMATE = "Pure DP", "Zero-concentrated DP", "Approximate DP"
_ACTORS = (
    "Owners hold their records, add their own noise and keep their own account; nobody else is trusted with records.",
    "The learner sees noisy answers and is not trusted. Nor are other owners, or whoever gets the model.",
)
_UNPROTECTED = (
    "numbers of records, names of owners, their availability and participation; the order of rows and the owner column "
    "of a table that was divided among owners; public rows"
)


_DESCRIBED = {
    True: "one row of one owner; a person with several rows loses on each of them",
    False: "one person with all of its rows at one owner; a person at several owners loses at each of them",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What of a deployment differs from one to the next.

    Args:
        name: of the study or dataset.
        kind: what is handed out.
        owners: whose records it is about.
        date: of the statement.
        version: of copriv.
        epsilon: the largest of any owner.
        delta: likewise.
        accountants: how answers add up.
        mechanisms: which noise is added.
        repeated: whether more answers may follow.
        public: which rows were taken as public.
        unit: what is protected as one.
    """

    name: str
    kind: str
    owners: tuple[str, ...]
    date: str
    version: str
    epsilon: float | None
    delta: float
    accountants: tuple[Accountant, ...]
    mechanisms: tuple[str, ...]
    repeated: bool
    public: tuple[PublicRows, ...]
    unit: str = UNIT


def describe_deployment(facts: Facts) -> Deployment:
    """The registry's sections, filled as far as a program can."""
    return {
        "product": {
            "name": facts.name,
            "data_curators": list(facts.owners),
            "data_product_type": facts.kind,
            "publication_date": facts.date[:10],
        },
        "dp_flavor": _flavor_section(facts),
        "privacy_loss": {
            "privacy_unit": facts.unit.split(" (")[0],
            "privacy_unit_description": _DESCRIBED[facts.unit == UNIT],
            "privacy_parameters": {"epsilon": facts.epsilon, "delta": facts.delta},
            "privacy_parameters_description": "the largest of any owner; null if no budget is declared",
        },
        "model": {
            "model_name": "each owner adds its own noise",
            "actors": list(_ACTORS),
            "release_type": "Many releases" if facts.repeated else "One release",
            "data_source_type": "Static",
            "access_type": "Interactive",
        },
        "accounting": {
            "composition": composition(facts.accountants),
            "post_processing": "models are computed from noisy answers and public rows alone",
        },
        "implementation": {
            "software": f"copriv {facts.version}, noise of OpenDP",
            "mechanisms": list(facts.mechanisms),
            "pre_processing_eda_hyperparameter_tuning": (
                "features, clip, box and step are fitted on public rows and never on private ones: "
                + "; ".join(rows.words for rows in facts.public)
            ),
        },
    }


def _flavor_section(facts: Facts) -> Section:
    """What is promised, in the registry's terms."""
    return {
        "name": flavor(facts.accountants, facts.delta),
        "input_metric": f"number of {'records' if facts.unit == UNIT else 'people'} that are replaced ({ADJACENCY})",
        "bound_on_input_distance": 1,
        "output_measure": "ε of Laplace noise, ρ or the privacy loss distribution of Gaussian noise",
        "bound_on_output_distance": {"epsilon": facts.epsilon, "delta": facts.delta},
        "data_domain": "tables of records, one owner's each",
        "unprotected_quantities": _UNPROTECTED,
    }


def flavor(accountants: Iterable[Accountant], delta: float) -> str:
    """Which kind of differential privacy is stated.

    >>> flavor(["pure"], 0.0), flavor(["zcdp"], 1e-6), flavor(["pld"], 1e-6)
    ('Pure DP', 'Zero-concentrated DP', 'Approximate DP')
    """
    if delta == 0:
        return _PURE
    return _CONCENTRATED if set(accountants) == {"zcdp"} else _APPROXIMATE


def composition(accountants: Iterable[Accountant]) -> str:
    """How the answers of one owner add up."""
    words: dict[Accountant, str] = {
        "pure": "ε of Laplace answers is added up",
        "zcdp": "ρ of Gaussian answers is added up and converted to ε at δ",
        "pld": "ρ of Gaussian answers is added up; ε at δ is from their privacy loss distribution",
    }
    return "; ".join(words[name] for name in sorted(set(accountants)))
