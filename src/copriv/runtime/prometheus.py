"""Numbers in the text format that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from copriv.protocol.text import plain

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Sample(NamedTuple):
    """One number, and what it belongs to."""

    value: float
    labels: Mapping[str, str] = {}


class Metric(NamedTuple):
    """Numbers of one name."""

    name: str
    kind: Literal["counter", "gauge"]
    words: str
    samples: tuple[Sample, ...]


def as_text(metrics: Iterable[Metric]) -> str:
    r"""The page that is read; names that others have chosen are shown as text.

    >>> print(as_text([Metric("copriv_paused", "gauge", "1 if paused.", (Sample(0, {"owner": 'a"b\\'}),))]), end="")
    # HELP copriv_paused 1 if paused.
    # TYPE copriv_paused gauge
    copriv_paused{owner="a\"b\\"} 0
    """
    return "".join(f"{line}\n" for metric in metrics if metric.samples for line in _lines(metric))


def _lines(metric: Metric) -> Iterable[str]:
    yield f"# HELP {metric.name} {metric.words}"
    yield f"# TYPE {metric.name} {metric.kind}"
    seen = set[str]()
    for place, sample in enumerate(metric.samples):
        labels = ",".join(f'{name}="{_escape(value)}"' for name, value in sample.labels.items())
        if labels in seen:  # long names are cut, and a page with the same labels twice is not read
            labels += f',place="{place}"'
        seen.add(labels)
        yield f"{metric.name}{'{' + labels + '}' if labels else ''} {sample.value:.17g}"


def _escape(value: str) -> str:
    return plain(value, 200).replace("\\", "\\\\").replace('"', '\\"')
