"""Which figures the paper has for each data set, and how they are cut from it."""

from __future__ import annotations

from copriv.errors import BadInput
from copriv.reproduction.collaboration import hospitals, many_banks
from copriv.reproduction.convergence import convergence
from copriv.reproduction.study import Figure, Settings
from copriv.reproduction.surface import budgets, surface
from copriv.reproduction.world import World

LENDING = ("a0", "a00", "a1", "a3", "a4")
HOSPITAL = ("b0", "b00", "b1", "b2")
_BANKS = 3
_LARGEST_BANK = 250_000
_SMALL_BANK = 10_000
_COUNTS = (2, 3, 5, 10, 20, 40, 60, 80, 100, 150)


def lending_figures(world: World, settings: Settings, wanted: set[str]) -> list[Figure]:
    """Figs. a0, a00, a1, a3 and a4."""
    pool = world.records
    largest = min(_LARGEST_BANK, pool // _BANKS)
    if settings.sizes is not None:
        largest = max(settings.sizes)
    sizes = settings.sizes or tuple(sorted({max(1000, largest // 2**k) for k in range(6)}))
    small = min(_SMALL_BANK, pool // 20)
    counts = settings.owners or tuple(count for count in _COUNTS if count * small <= pool)
    _check_pool(pool, _BANKS, largest if wanted - {"a4"} else 0)
    _check_pool(pool, max(counts), small if "a4" in wanted else 0)
    figures: list[Figure] = []
    if wanted & {"a0", "a00"}:
        figures += convergence(world, settings, world.blocks(_BANKS, largest), "a")
    if wanted & {"a1", "a3"}:
        figures += surface(world, settings, _BANKS, sizes)
    if "a4" in wanted:
        figures += many_banks(world, settings, counts, small)
    return [figure for figure in figures if figure.name in wanted]


def hospital_figures(world: World, settings: Settings, wanted: set[str]) -> list[Figure]:
    """Figs. b0, b00, b1 and b2."""
    owners = world.owners()
    figures: list[Figure] = []
    if wanted & {"b0", "b00"}:
        figures += convergence(world, settings, owners, "b")
    if "b1" in wanted:
        figures += budgets(world, settings, owners)
    if "b2" in wanted:
        figures += hospitals(world, settings, owners)
    return [figure for figure in figures if figure.name in wanted]


def _check_pool(pool: int, owners: int, records: int) -> None:
    if owners * records > pool:
        raise BadInput(
            f"{owners} owners of {records:,} records from {pool:,}",
            remedy="give fewer owners, smaller ones, or a larger table",
            value=owners * records,
        )


def choose_figures(text: str | None, available: tuple[str, ...]) -> set[str]:
    """The figures named in a list such as a0,a4; all that there are without one.

    >>> sorted(choose_figures("a4, a0", LENDING))
    ['a0', 'a4']
    """
    if text is None:
        return set(available)
    names = {name.strip() for name in text.split(",") if name.strip()}
    if unknown := names - set(LENDING) - set(HOSPITAL):
        raise BadInput(
            f"there is no figure {', '.join(sorted(unknown))}",
            remedy=f"choose from {', '.join((*LENDING, *HOSPITAL))}",
            value=text,
        )
    return names & set(available)
