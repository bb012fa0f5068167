"""The main job on real records."""

import json

import pytest

STUDIES = {
    "loans by state": (
        ["--data", "lending_2007_2011.parquet", "--target", "int_rate", "--owner-column", "addr_state"],
        ["--min-records", "1500"],
    ),
    "heart failure by hospital": (
        ["--data", "hospital_heart_failure_2024.parquet", "--target", "los", "--owner-column", "hospital_id"],
        ["--min-records", "250"],
    ),
    "heart disease in four hospitals": (
        ["--data", "heart_four_hospitals.parquet", "--target", "num", "--owner-column", "hospital"],
        ["--positive-above", "0", "--loss", "logistic", "--public-rows", "100"],
    ),
    "graded loans in blocks": (
        ["--data", "lending_887k_categories.parquet", "--target", "grade", "--owners", "5"],
        ["--ordinal", "--records-per-owner", "10000", "--shuffle"],
    ),
    "official hospital columns": (
        ["--data", "hospital_2022.parquet", "--target", "Length of Stay", "--owner-column", "Facility Name"],
        ["--min-records", "400", "--public-rows", "4000", "--delta", "1e-6"],
    ),
}


@pytest.mark.parametrize("study", STUDIES)
def test_nobody_spends_more_than_it_promised(copriv, real_data, study):
    (option, file, *rest), more = STUDIES[study]
    outcome = copriv("train", option, real_data / file, *rest, *more, "--epsilon", "10", "--json")
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["guarantee"]["epsilon"] == 10.0
    assert len(told["spent"]) == told["owners"] > 1
    assert all(0 <= entry["epsilon"] <= 10.0 for entry in told["spent"])
    assert told["relative_fitness"] >= 0
