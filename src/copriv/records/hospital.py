"""New York hospital discharges (SPARCS) as the paper reads them, by the column names of 2016 and of later years.

Charges, costs, the postcode and the numbers of facilities are removed, the last 50,000 rows are public, and owners are
the hospitals with at least 10,000 of the others.
"""

from __future__ import annotations

from copriv.records.official import DatasetSpec

HOSPITAL = DatasetSpec(
    name="hospital",
    targets=("Length of Stay", "los"),
    owners=("Facility Name", "Hospital Name", "hospital_id"),
    irrelevant=(
        *("Total Charges", "Total Costs", "charges", "costs", "Ratio of Total Costs to Total Charges"),
        *("Zip Code - 3 digits", "zip_code", "Operating Certificate Number", "Permanent Facility Id", "Facility Id"),
    ),
    public_rows=50_000,
    min_records=10_000,
)
