"""Features of every kind: fitted on public rows alone, bounded for every record, the same bits in every batch."""

import msgspec
import numpy as np
import polars as pl
import pytest

from copriv.errors import BadInput, BadTable
from copriv.records.cells import Layout, read_values
from copriv.records.dictionary import SCORE, Dictionary, PublicScore
from copriv.records.feature_spec import FeatureSpec
from copriv.records.fit_features import PublicRows, fit_dictionary
from copriv.records.load import LoadSpec, load_consortium, take_public
from copriv.records.load_owner import load_owner
from copriv.records.partition import Partition
from copriv.records.public_cells import public_sample
from copriv.records.target import TargetChoice

ROWS = 400
SPECS = ("codes:3", "pca:4", "pls:3", "all", "score", "leaves:3", "pls:2+all+score+leaves:2+splines+pairs")


def make_frame(rows=ROWS, seed=0):
    generator = np.random.default_rng(seed)
    income, grade = (
        generator.lognormal(10, 0.5, rows),
        generator.choice(["A", "B", "C", "rare"], rows, p=[0.5, 0.3, 0.19, 0.01]),
    )
    town = np.where(
        generator.random(rows) < 0.5, "Oslo", [f"town {i % 150}" for i in generator.integers(0, 10**6, rows)]
    )
    rate = 5 + 2 * (grade == "B") + 4 * (grade == "C") + np.abs(income / 20_000 - 1) + generator.normal(0, 0.5, rows)
    return pl.DataFrame(
        {
            "income": np.where(generator.random(rows) < 0.1, np.nan, income),
            "grade": grade,
            "town": town,
            "since": generator.choice(["2011-01-01", "2012-05-01", "2013-09-01", "2014-01-01"], rows),
            "same": ["x"] * rows,
            "note": [f"words {i}" for i in range(rows)],
            "rate": rate,
        }
    )


WILD = pl.DataFrame(
    {
        "income": [1e308, -np.inf, np.nan, None, 0.0, 5e-324],
        "grade": ["rare", "Z", "", None, "\x00", "A" * 5000],
        "town": ["Oslo", "town 3", "nowhere", None, "?", "\U0001f600"],
        "since": ["0000-00-00", "x", None, "9999-12-31", "2012-05-01", ""],
        "rate": [5.0, 1e308, 6.0, 7.0, 8.0, 9.0],
    }
)


@pytest.fixture(scope="module")
def rows():
    return PublicRows(make_frame(), TargetChoice("rate"))


@pytest.fixture(scope="module")
def fitted(rows):
    return {spec: rows.fit(spec) for spec in SPECS}


@pytest.mark.parametrize("spec", SPECS)
def test_every_record_becomes_a_bounded_row_that_no_batch_changes(fitted, spec):
    dictionary = fitted[spec].dictionary
    table = pl.concat([make_frame(50, seed=3).select(WILD.columns), WILD])
    features, targets = dictionary.records_of(table)
    assert features.shape == (56, dictionary.parameters)
    assert np.all(np.linalg.norm(features, axis=1) <= 1.0)
    assert np.all(np.abs(targets) <= 1.0)
    assert np.all(features[:, -1] > 0)
    for start, end in ((0, 1), (1, 8), (8, 56)):
        part, _ = dictionary.records_of(table[start:end])
        assert part.tobytes() == features[start:end].tobytes()


@pytest.mark.parametrize("spec", SPECS)
def test_a_dictionary_survives_the_journey(fitted, spec):
    dictionary = fitted[spec].dictionary
    assert Dictionary.from_json(dictionary.to_json()) == dictionary
    assert Dictionary.from_study(msgspec.to_builtins(dictionary)) == dictionary


@pytest.mark.parametrize("spec", SPECS[1:])
def test_weights_of_cells_are_the_model(fitted, spec):
    """Worked out by hand from values and labels: what a model says of a row that is not shortened."""
    dictionary = fitted[spec].dictionary
    theta = np.random.default_rng(1).normal(size=dictionary.parameters)
    table = make_frame(60, seed=5)
    values = read_values(table, dictionary.columns)
    long = msgspec.structs.replace(dictionary, length=dictionary.length * 1e3)  # so that no row is shortened
    *weights, intercept = long.cell_weights(theta)
    counted = _counted(dictionary, values)
    inputs = Layout.of(dictionary.columns).inputs_of(values)
    if dictionary.score_trees is not None:
        counted.append(dictionary.score_trees.scores_of(inputs))
        assert weights[len(counted) - 1].label == SCORE
    if dictionary.leaf_trees is not None:
        leaves = dictionary.leaf_trees.leaves_of(inputs)
        counted += [(leaves == place).any(axis=1) for place in range(dictionary.leaf_trees.leaves.size)]
    margins = intercept.weight + sum(each.weight * count for each, count in zip(weights, counted, strict=True))
    np.testing.assert_allclose(margins, long.features_of(table) @ theta, rtol=1e-9, atol=1e-12)


def _counted(dictionary, values):
    """Of each cell, how many of its units each row has, as a person would count them; of a product, deviations."""
    counted, deviations = [], []
    for column, value in zip(dictionary.columns, values.T, strict=True):
        known, encoding = np.isfinite(value), column.encoded
        if encoding.indicators:
            found = [(value == place, value == place) for place in range(len(column.categories) + encoding.buckets)]
        else:
            number = np.clip(np.where(known, value, column.fill), *encoding.limits)
            ends = [column.mean + knot * column.deviation for knot in encoding.knots]
            above = [np.maximum(number - end, 0) for end in ends]
            found = [
                (number, (number - column.mean) / column.deviation),
                *((far, far / column.deviation) for far in above),
            ]
        found += [(~known, ~known)] if encoding.missing else []
        counted += [count for count, _ in found]
        deviations += [deviation for _, deviation in found]
    pairs = dictionary.pairs or ()
    return [*counted, *(deviations[one] * deviations[other] for one, other in pairs)]


def test_fitting_again_gives_the_same(fitted):
    again, left_out = fit_dictionary(make_frame(), TargetChoice("rate"), SPECS[-1])
    assert again == fitted[SPECS[-1]].dictionary
    assert tuple(left_out) == fitted[SPECS[-1]].left_out


@pytest.mark.parametrize("spec", [SPECS[0], SPECS[-1]])
def test_only_public_rows_shape_features(spec):
    frame = make_frame()
    private = pl.int_range(pl.len()) < ROWS // 2
    changed = frame.with_columns(
        pl.when(private).then(pl.lit("Z")).otherwise("grade").alias("grade"),
        pl.when(private).then(pl.col("income") * 7).otherwise("income").alias("income"),
        pl.when(private).then(pl.col("rate") * 2).otherwise("rate").alias("rate"),
    )
    plan = LoadSpec(TargetChoice("rate"), Partition(owners=1), spec, ROWS // 2)
    found, other = (load_consortium(table.lazy(), plan) for table in (frame, changed))
    assert found.dictionary == other.dictionary
    assert found.public.columns.tobytes() == other.public.columns.tobytes()
    assert found.owners[0].sample.columns.tobytes() != other.owners[0].sample.columns.tobytes()


def _explained(features, targets):
    """R² of least squares on the first half, on the other half."""
    half = targets.size // 2
    theta = np.linalg.lstsq(features[:half], targets[:half], rcond=None)[0]
    rest = targets[half:]
    return 1 - np.mean((rest - features[half:] @ theta) ** 2) / np.var(rest)


def test_scores_of_public_rows_are_out_of_fold():
    """A target that nothing explains: scores of the rows that trees were grown on seem to, and would be caught."""
    generator = np.random.default_rng(2)
    frame = pl.DataFrame({f"x{k}": generator.normal(size=300) for k in range(5)} | {"y": generator.normal(size=300)})
    dictionary, public, _ = take_public(frame.lazy(), TargetChoice("y"), "score")
    assert _explained(public.columns.T, public.targets) < 0.05
    many = msgspec.structs.replace(dictionary, score=_grown(frame))
    in_sample, targets = many.records_of(frame)
    assert _explained(in_sample, targets) > 0.3


def _grown(frame):
    """The broken twin: trees of all rows, in scores of these very rows."""
    from copriv.records import scikit_trees

    cells = PublicRows(frame, TargetChoice("y")).cells
    model = scikit_trees.boost(cells.inputs, cells.targets, labels=False, trees=100)
    return PublicScore(scikit_trees.trees_of(model, np.arange(5)), 0.0, 1.0)


@pytest.mark.parametrize("labels", [False, True])
def test_an_agreed_dictionary_scores_its_own_public_rows_as_when_it_was_fitted(labels):
    choice = TargetChoice("rate", labels=labels, positive_above=6.0 if labels else None)
    fitted = PublicRows(make_frame(), choice).fit("pls:2+score")
    again = public_sample(fitted.dictionary, make_frame())
    assert again.columns.tobytes() == fitted.public.columns.tobytes()
    plain, _ = fitted.dictionary.records_of(make_frame())
    assert not np.allclose(plain, fitted.public.columns.T)
    few = public_sample(fitted.dictionary, make_frame(20))
    np.testing.assert_array_equal(few.columns.T, fitted.dictionary.records_of(make_frame(20))[0])


def test_folds_are_honest_about_leaves(rows):
    """Least squares on leaves of the very rows looks far better than on rows the trees have not seen."""
    seen, unseen = [], []
    for others, own in rows.folds("leaves:10"):
        theta = np.linalg.lstsq(others.columns.T, others.targets, rcond=1e-6)[0]
        seen.append(np.mean((others.targets - others.columns.T @ theta) ** 2))
        unseen.append(np.mean((own.targets - own.columns.T @ theta) ** 2))
    assert np.mean(seen) < 0.8 * np.mean(unseen)
    assert [own.records for _, own in rows.folds("pls:2")] == [80] * 5
    scored = np.concatenate([own.columns.T[:, 0] for _, own in rows.folds("score")])
    assert scored.size == ROWS


def test_one_hot_columns_tell_more_than_codes(rows, fitted):
    """The grade in the middle has the highest rate once it is renamed, which no integer code can say."""
    names = {"A": "A", "B": "Z", "C": "M", "rare": "rare"}
    frame = make_frame().with_columns(pl.col("grade").replace_strict(names))
    found = {}
    for spec in ("codes:4", "all", "pls:4"):
        public = PublicRows(frame, TargetChoice("rate")).fit(spec).public
        found[spec] = _explained(public.columns.T, public.targets)
    assert min(found["all"], found["pls:4"]) > found["codes:4"] + 0.2


def test_columns_become_cells(fitted):
    columns = {column.name: column for column in fitted["all"].dictionary.columns}
    assert set(columns) == {"income", "grade", "town", "since"}
    assert set(columns["grade"].categories) == {"A", "B", "C"}
    assert (columns["grade"].encoded.buckets, columns["town"].encoded.buckets) == (1, 11)
    assert columns["income"].encoded.missing
    assert not columns["since"].encoded.missing
    reasons = {left.name: left.reason for left in fitted["all"].left_out}
    assert reasons == {"same": "constant", "note": "free text or identifier"}


def test_categories_that_only_owners_have_are_other_and_counted_at_home(fitted):
    table = make_frame(300, seed=4).with_columns(
        pl.when(pl.int_range(pl.len()) < 7).then(pl.lit("new")).otherwise(pl.lit("A")).alias("grade")
    )
    dictionary = fitted["pls:3"].dictionary
    found = load_owner(table.lazy(), dictionary)
    assert [notice for notice in found.notices if "grade" in notice] == [
        "grade: 7 cells of a category that the public rows never or hardly had count as 'other'"
    ]
    rare = table.with_columns(pl.col("grade").replace("new", "rare"))
    np.testing.assert_array_equal(dictionary.features_of(table), dictionary.features_of(rare))
    intake = load_consortium(table.lazy(), LoadSpec(TargetChoice("rate"), Partition(owners=1)), dictionary=dictionary)
    assert any("grade: 7 cells" in notice for notice in intake.notices)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (TargetChoice("rate"), "explains 99 % of the target's variance"),
        (TargetChoice("rate", labels=True, positive_above=6.0), "with an AUC of 1.00"),
    ],
)
@pytest.mark.parametrize("features", ["pls:2", 2])
def test_a_column_that_gives_the_target_away_is_named(choice, words, features):
    frame = make_frame().with_columns(pl.col("rate").rank("ordinal").cast(pl.Float64).alias("after"))
    dictionary, _, notices = take_public(frame.lazy(), choice, features)
    [notice] = [notice for notice in notices if "alone" in notice]
    assert notice.startswith("the column 'after' alone ")
    assert words in notice
    assert "after" in dictionary.required_columns()
    assert not any("alone" in notice for notice in take_public(make_frame().lazy(), choice, features)[2])


@pytest.mark.parametrize("features", ["pls:2", "all", 2])
def test_one_category_everywhere_is_nothing_to_learn_from(features):
    frame = make_frame().select("same", "rate")
    with pytest.raises(BadTable, match=r"no column is left to learn from.*'same' is constant"):
        take_public(frame.lazy(), TargetChoice("rate"), features)


@pytest.mark.parametrize(
    ("frame", "spec", "message"),
    [
        (make_frame(), "auto", "no plan here that chooses"),
        (make_frame(60), "leaves:50", "features, and 60 public rows"),
        (make_frame(40), "score", "too few to grow trees"),
        (make_frame().with_columns(rate=pl.lit(3.0)), "pls:2", "is 3 in every public row"),
        (make_frame().select("same", "note", "rate"), "all", "no column is left"),
    ],
)
def test_public_rows_that_do_not_allow_it_are_refused(frame, spec, message):
    with pytest.raises((BadInput, BadTable), match=message):
        PublicRows(frame, TargetChoice("rate")).fit(spec)


def test_a_target_that_hardly_varies_is_said_to_be_so():
    place = pl.int_range(pl.len())
    alike = make_frame().with_columns(pl.when(place < 390).then(5.0).otherwise("rate").alias("rate"))
    [notice] = PublicRows(alike, TargetChoice("rate")).fit("pls:2").notices
    assert notice == "98 % of the public rows have the same 'rate': they say little about the others"
    rare = make_frame().with_columns((place < 4).cast(pl.Int8).alias("rate"))
    [notice] = PublicRows(rare, TargetChoice("rate", labels=True)).fit("codes:2").notices
    assert notice == "4 of 400 public rows are positive: they say little about them"


def test_fewer_directions_than_asked_for_are_said():
    frame = make_frame().select("income", "rate")
    assert PublicRows(frame, TargetChoice("rate")).fit("pls:9").notices == (
        "2 features instead of 9 (pls): the table has no more directions",
    )


def test_candidates_can_all_be_fitted(rows):
    specs = rows.candidates()
    assert FeatureSpec.parse("pls:10+score") in specs
    sizes = [rows.fit(spec).dictionary.features for spec in specs]
    assert max(sizes) <= ROWS // 3 + 1


def test_without_scikit_learn_there_are_no_trees(rows, monkeypatch):
    monkeypatch.setattr("copriv.records.scikit_trees.can_boost", lambda: False)
    monkeypatch.setattr("copriv.records.fit_features.can_boost", lambda: False)
    assert not any(spec.needs_boosting for spec in rows.candidates())
    with pytest.raises(BadInput, match="scikit-learn"):
        PublicRows(make_frame(), TargetChoice("rate")).fit("score")
