"""What other installed packages bring: objects that they name under an entry point group of this project.

Nothing is loaded until it is asked for by name, and only installed packages are looked at. A study file names a rule or
a loss; it never says where its code comes from.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from copriv.errors import BadInput


def extension_names(group: str) -> tuple[str, ...]:
    """The names that installed packages offer under a group, in order; nothing is loaded.

    >>> extension_names("copriv.no-such-group")
    ()
    """
    return tuple(sorted({point.name for point in entry_points(group=group)}))


def load_extension(group: str, name: str) -> object | None:
    """The object that an installed package offers under this name; None if no package does.

    Fails if two packages offer the name, or if the package cannot be imported.
    """
    points = {point.value: point for point in entry_points(group=group, name=name)}
    if not points:
        return None
    if len(points) > 1:
        raise BadInput(
            f"several installed packages bring {name!r} under {group}: {', '.join(sorted(points))}",
            remedy="uninstall all but one of them",
            value=name,
        )
    return _load(next(iter(points.values())), group)


def _load(point: EntryPoint, group: str) -> object:
    try:
        return point.load()
    except Exception as problem:
        raise BadInput(
            f"{point.value}, which is installed as {point.name!r} under {group}, cannot be imported: {problem}",
            remedy="repair or uninstall that package",
            value=point.value,
        ) from problem
