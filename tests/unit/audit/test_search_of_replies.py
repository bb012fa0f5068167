"""A search through studies and records that nobody thought of: none of them shows in what leaves an owner."""

import math

from hypothesis import given
from hypothesis import strategies as st

from copriv.api.audited_owner import audited_house
from copriv.audit import encoder_studies, hostile_studies, turned_studies
from copriv.audit.hostile_studies import PLAIN, Study
from copriv.audit.raw_table import ALL, FORMATS, RECORDS, SCHEMA, Odd
from copriv.audit.whole_reply import Case, compare_all

HOUSE = audited_house()

NUMBERS = st.one_of(
    st.floats(),
    st.sampled_from([0.0, 5e-324, 1e-150, 1e-9, 1e-6, 0.5, 1.0, 5.0, 1e3, 1e6, 1e9, 1e150, 1.7e308, math.inf]),
)
ENTRIES = st.sampled_from(
    [
        *(("model", name) for name in ("limit", "row_norm", "target_bound", "regularization", "threshold")),
        ("privacy", "clip"),
        ("privacy", "epsilon"),
        ("privacy", "fill"),
        ("evaluation", "loss_bound"),
        *(("dictionary", name) for name in ("length", "intercept")),
        *(("dictionary", "target", name) for name in ("center", "scale")),
        *(("dictionary", "columns", place, name) for place in (0, 1) for name in ("fill", "mean", "deviation")),
        ("dictionary", "components", 0, 1),
    ]
)
WORDS = {
    ("model", "loss"): st.sampled_from(["squared", "huber", "logistic"]),
    ("learning", "rule"): st.sampled_from(["paper", "averaged", "newton", "statistics"]),
    ("privacy", "delta"): st.sampled_from([0.0, 1e-6]),
    ("privacy", "shares"): st.sampled_from([[10], [20, 50], [100]]),
    ("privacy", "axes"): st.one_of(
        st.lists(st.lists(st.floats(-0.6, 0.6), min_size=3, max_size=3), min_size=3, max_size=3),
        st.lists(st.lists(st.floats(), max_size=4), max_size=4),
    ),
    ("dictionary", "target", "kind"): st.sampled_from(["number", "label"]),
    ("dictionary", "target", "name"): st.sampled_from(sorted(SCHEMA)),
    ("dictionary", "columns", 0, "name"): st.sampled_from(sorted(SCHEMA)),
    ("dictionary", "columns", 0, "kind"): st.sampled_from(["number", "day", "month"]),
    ("dictionary", "columns", 2, "name"): st.sampled_from(sorted(SCHEMA)),
    ("dictionary", "columns", 2, "categories"): st.lists(st.text(max_size=4), min_size=1, max_size=3),
}
CELLS = st.one_of(
    st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"").replace(b'"', b"").replace(b",", b"")),
    st.floats().map(lambda value: repr(value).encode()),
    st.text(max_size=8).map(lambda text: b'"' + text.replace("\n", "").replace('"', '""').encode() + b'"'),
    st.sampled_from([b"", b"NaN", b"-inf", b"1e400", b"1,000".join([b'"', b'"']), b"2020-13-01", b"true", b"\r", b" "]),
)
VALUES = {
    "id": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    "age": st.one_of(st.none(), st.floats()),
    "income": st.one_of(st.none(), st.floats()),
    "city": st.one_of(st.none(), st.text(max_size=8)),
    "since": st.one_of(st.none(), st.text(max_size=8), st.dates().map(str)),
    "day": st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1)),
    "moment": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    "instant": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    "blob": st.one_of(st.none(), st.binary(max_size=8)),
    "flag": st.one_of(st.none(), st.booleans()),
    "grade": st.one_of(st.none(), st.text(max_size=8)),
    "tall": st.one_of(st.none(), st.integers(0, 2**64 - 1)),
    "short": st.one_of(st.none(), st.floats(width=32)),
    "stay": st.one_of(st.none(), st.floats()),
}
LINES = st.binary(max_size=60).map(lambda data: data.replace(b"\n", b""))


@st.composite
def studies(draw):
    changes = draw(st.dictionaries(ENTRIES, NUMBERS, max_size=2))
    for entry in draw(st.sets(st.sampled_from(sorted(WORDS, key=str)), max_size=2)):
        changes[entry] = draw(WORDS[entry])
    if ("privacy", "axes") in changes and draw(st.integers(0, 3)):
        changes[("privacy", "shares")] = [20, 50]
    if ("privacy", "shares") in changes:
        changes[("privacy", "kinds")] = ["gradient"]
    return Study("searched", changes)


@st.composite
def records(draw, suffix):
    if suffix == "parquet":
        names = draw(st.sets(st.sampled_from(sorted(VALUES)), min_size=1, max_size=5))
        return Odd("searched", values={name: draw(VALUES[name]) for name in sorted(names)})
    if draw(st.integers(0, 3)) == 0:
        line = draw(LINES)
        return Odd("searched", line=line, fits=b'"' not in line)
    names = draw(st.sets(st.sampled_from(sorted(SCHEMA)), min_size=1, max_size=5))
    return Odd("searched", {name: draw(CELLS) for name in sorted(names)})


@st.composite
def cases(draw):
    suffix = draw(st.sampled_from(FORMATS))
    study = draw(
        st.one_of(
            studies(),
            st.sampled_from(
                [
                    PLAIN,
                    *encoder_studies.ENCODED,
                    *hostile_studies.TYPED,
                    *hostile_studies.OTHER_LOSSES,
                    *hostile_studies.FILLED,
                    *turned_studies.TURNED,
                    *hostile_studies.RATES,
                    *hostile_studies.OTHER_TARGETS,
                ]
            ),
        )
    )
    return Case(study, suffix, (draw(records(suffix)),), place=draw(st.integers(0, RECORDS - 1)), columns=ALL)


@given(cases())
def test_a_search_finds_no_record_that_shows(case):
    [(_, seen)] = compare_all(HOUSE, case)
    assert seen.where is None
