"""Lending Club loans as the paper reads them: Kaggle's `loan.csv`, or any table with its columns.

Identifiers and irrelevant columns are removed, the last 10,000 rows are public, and banks are blocks of the others.
"""

from __future__ import annotations

from copriv.records.official import DatasetSpec

LENDING = DatasetSpec(
    name="lending",
    targets=("int_rate", "grade"),
    owners=(),
    irrelevant=("id", "member_id", "url", "desc", "title", "emp_title"),
    public_rows=10_000,
    min_records=0,
)
