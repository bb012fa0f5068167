"""Records that look like New York's hospital discharges (SPARCS), for when no file is given.

Columns carry the official names of the file of 2022. No row is copied: the tables hold rounded shares, offsets and
correlations measured on a public sample. Every discharge belongs to a diagnosis-related group and to a facility. Behind
age, severity, risk of mortality, urgency, disposition and stay are normals, correlated within a group and shifted from
one group to the next; the facility shifts the stay a little; bills grow with the stay and the severity.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import polars as pl
from scipy.special import ndtri

from copriv.records import copula
from copriv.vectors import FloatArray, IntArray

_Normals: TypeAlias = dict[str, FloatArray]
_Columns: TypeAlias = dict[str, pl.Series]

# fmt: off
COLUMNS = [
    "Hospital Service Area", "Hospital County", "Operating Certificate Number", "Permanent Facility Id",
    "Facility Name", "Age Group", "Zip Code - 3 digits", "Gender", "Race", "Ethnicity", "Length of Stay",
    "Type of Admission", "Patient Disposition", "Discharge Year", "CCSR Diagnosis Code", "CCSR Diagnosis Description",
    "CCSR Procedure Code", "CCSR Procedure Description", "APR DRG Code", "APR DRG Description", "APR MDC Code",
    "APR MDC Description", "APR Severity of Illness Code", "APR Severity of Illness Description",
    "APR Risk of Mortality", "APR Medical Surgical Description", "Payment Typology 1", "Payment Typology 2",
    "Payment Typology 3", "Birth Weight", "Emergency Department Indicator", "Total Charges", "Total Costs",
]
_DEPENDENCE = copula.read_dependence("""
    age 100
    severity 14 100
    mortality 25 86 100
    urgency -9 0 2 100
    disposition 47 36 39 -12 100
    stay 19 46 48 -9 47 100
""")
# Each group: code, major category, share per thousand, diagnosis, procedure, offsets of the six normals in tenths, cost
# of a day (its logarithm in tenths), M(edical) or S(urgical), description.
_GROUP_TABLE = """
    137 4 165 INF012 ADM019 6 14 14 6 6 1 83 M MAJOR RESPIRATORY INFECTIONS AND INFLAMMATIONS
    139 4 13 RSP002 ADM015 5 4 6 6 6 2 83 M OTHER PNEUMONIA
    140 4 10 RSP008 ADM021 12 4 7 4 3 1 83 M CHRONIC OBSTRUCTIVE PULMONARY DISEASE
    141 4 9 RSP009 ADM021 -4 -6 -4 3 -9 -5 84 M ASTHMA
    130 4 5 INF012 ESA003 5 17 17 -4 20 19 91 M RESPIRATORY SYSTEM DIAGNOSIS WITH VENTILATOR SUPPORT > 96 HOURS
    560 14 92 PRG023 PGN002 -8 -8 -12 -11 -15 -7 84 M VAGINAL DELIVERY
    540 14 41 PRG016 PGN003 -5 -8 -11 -11 -15 -1 86 S CESAREAN SECTION WITHOUT STERILIZATION
    720 18 80 INF002 ADM015 8 16 18 6 13 7 84 M SEPTICEMIA AND DISSEMINATED INFECTIONS
    640 15 72 PNL001 ADM010 -36 -16 -26 3 -15 -9 75 M NEONATE BIRTH WEIGHT > 2499 GRAMS, NORMAL OR OTHER PROBLEM
    626 15 7 PNL001 ADM010 -36 -3 -26 4 -14 -6 75 M NEONATE BIRTH WEIGHT 2000-2499 GRAMS, NORMAL OR OTHER PROBLEM
    750 19 48 MBD001 MHT001 -3 -4 -10 -2 -4 15 80 M SCHIZOPHRENIA
    751 19 21 MBD002 MHT001 -6 -5 -9 -1 -2 10 80 M MAJOR DEPRESSIVE DISORDERS AND OTHER OR UNSPECIFIED PSYCHOSES
    194 5 50 CIR019 ADM021 11 4 10 4 5 2 83 M HEART FAILURE
    201 5 20 CIR017 IMG008 7 -4 2 3 2 -6 84 M CARDIAC ARRHYTHMIA AND CONDUCTION DISORDERS
    190 5 16 CIR009 MAM005 12 -3 5 0 7 -2 86 M ACUTE MYOCARDIAL INFARCTION
    175 5 22 CIR011 CAR004 9 -6 0 -18 -5 -6 96 S PERCUTANEOUS CARDIAC INTERVENTION WITHOUT AMI
    53 1 22 NVS009 MAM011 -4 0 0 -4 3 -4 84 M SEIZURE
    45 1 23 CIR020 IMG008 10 2 4 2 10 3 85 M CVA AND PRECEREBRAL OCCLUSION WITH INFARCTION
    42 1 13 NVS011 ADM021 18 0 3 5 12 8 83 M DEGENERATIVE NERVOUS SYSTEM DISORDERS EXCEPT MULTIPLE SCLEROSIS
    21 1 10 CIR021 CNS007 -1 -1 2 -21 5 3 95 S OPEN CRANIOTOMY EXCEPT TRAUMA
    254 6 47 DIG025 ADM015 3 -6 -1 5 3 -4 84 M OTHER DIGESTIVE SYSTEM DIAGNOSES
    231 6 13 DIG013 GIS009 3 -8 -6 -23 -1 3 90 S MAJOR LARGE BOWEL PROCEDURES
    469 11 39 GEN002 ADM017 10 3 6 6 8 1 83 M ACUTE KIDNEY INJURY
    420 10 26 END003 ADM017 -1 -1 2 2 0 -1 84 M DIABETES
    403 10 8 END009 GIS010 -4 -20 -21 -36 -15 -15 93 S PROCEDURES FOR OBESITY
    775 20 24 MBD017 SUD001 0 -3 -3 3 0 -3 81 M ALCOHOL ABUSE AND DEPENDENCE
    351 8 22 MUS026 ADM021 3 -6 -3 0 5 -2 84 M OTHER MUSCULOSKELETAL SYSTEM AND CONNECTIVE TISSUE DIAGNOSES
    308 8 22 INJ006 MST010 15 -4 -1 5 16 7 88 S HIP AND FEMUR FRACTURE REPAIR
    282 7 24 DIG020 ADM021 0 -5 -4 4 -5 -3 84 M DISORDERS OF PANCREAS EXCEPT MALIGNANCY
    383 9 18 SKN001 ADM015 0 -5 -4 6 -1 -2 82 M CELLULITIS AND OTHER SKIN INFECTIONS
    662 16 14 BLD005 ADM001 -11 0 -4 5 -12 2 83 M SICKLE CELL ANEMIA CRISIS
    860 23 8 SYM007 RHB002 6 -1 -4 -22 6 19 86 M REHABILITATION
"""
# What the codes of major categories, diagnoses and procedures stand for; ~ is the usual beginning of a category.
_MEANINGS = """
    1 ~NERVOUS SYSTEM | 4 ~RESPIRATORY SYSTEM | 5 ~CIRCULATORY SYSTEM | 6 ~DIGESTIVE SYSTEM |
    7 ~HEPATOBILIARY SYSTEM AND PANCREAS | 8 ~MUSCULOSKELETAL SYSTEM AND CONNECTIVE TISSUE |
    9 ~SKIN, SUBCUTANEOUS TISSUE AND BREAST | 10 ENDOCRINE, NUTRITIONAL AND METABOLIC DISEASES AND DISORDERS |
    11 ~KIDNEY AND URINARY TRACT | 14 PREGNANCY, CHILDBIRTH AND THE PUERPERIUM |
    15 NEWBORNS AND OTHER NEONATES WITH CONDITIONS ORIGINATING IN THE PERINATAL PERIOD |
    16 ~BLOOD AND BLOOD FORMING ORGANS AND IMMUNOLOGICAL DISORDERS |
    18 INFECTIOUS AND PARASITIC DISEASES (SYSTEMIC OR UNSPECIFIED SITES) | 19 MENTAL DISEASES AND DISORDERS |
    20 ALCOHOL/DRUG USE AND ALCOHOL/DRUG INDUCED ORGANIC MENTAL DISORDERS |
    23 FACTORS INFLUENCING HEALTH STATUS AND OTHER CONTACTS WITH HEALTH SERVICES | BLD005 Sickle cell trait/anemia |
    CIR009 Acute myocardial infarction | CIR011 Coronary atherosclerosis and other heart disease |
    CIR017 Cardiac dysrhythmias | CIR019 Heart failure | CIR020 Cerebral infarction |
    CIR021 Acute hemorrhagic cerebrovascular disease | DIG013 Diverticulosis and diverticulitis |
    DIG020 Pancreatic disorders (excluding diabetes) |
    DIG025 Other specified and unspecified gastrointestinal disorders | END003 Diabetes mellitus with complication |
    END009 Obesity | GEN002 Acute and unspecified renal failure | INF002 Septicemia | INF012 COVID-19 |
    INJ006 Fracture of the neck of the femur (hip), initial encounter |
    MBD001 Schizophrenia spectrum and other psychotic disorders | MBD002 Depressive disorders |
    MBD017 Alcohol-related disorders | MUS026 Muscle disorders | NVS009 Epilepsy; convulsions |
    NVS011 Neurocognitive disorders | PNL001 Liveborn | PRG016 Previous C-section |
    PRG023 Complications specified during childbirth | RSP002 Pneumonia (except that caused by tuberculosis) |
    RSP008 Chronic obstructive pulmonary disease and bronchiectasis | RSP009 Asthma |
    SKN001 Skin and subcutaneous tissue infections | SYM007 Malaise and fatigue |
    ADM001 TRANSFUSION OF BLOOD AND BLOOD PRODUCTS | ADM010 VACCINATIONS | ADM015 ADMINISTRATION OF ANTIBIOTICS |
    ADM017 ADMINISTRATION OF NUTRITIONAL AND ELECTROLYTIC SUBSTANCES | ADM019 POTENTIAL COVID-19 THERAPIES |
    ADM021 ADMINISTRATION OF THERAPEUTIC SUBSTANCES, NEC | CAR004 PERCUTANEOUS CORONARY INTERVENTIONS (PCI) |
    CAR024 VENOUS AND ARTERIAL CATHETER PLACEMENT | CNS007 CNS EXCISION PROCEDURES | ESA001 HEMODIALYSIS |
    ESA003 MECHANICAL VENTILATION | ESA004 NON-INVASIVE VENTILATION | GIS009 COLECTOMY | GIS010 GASTRECTOMY |
    IMG008 ULTRASONOGRAPHY | MAM005 MEASUREMENT DURING CARDIAC CATHETERIZATION | MAM011 ELECTROENCEPHALOGRAM (EEG) |
    MHT001 PHARMACOTHERAPY FOR MENTAL HEALTH (EXCLUDING SUBSTANCE USE) | MST010 FEMUR FIXATION |
    OTR004 ISOLATION PROCEDURES | PGN002 SPONTANEOUS VAGINAL DELIVERY | PGN003 CESAREAN SECTION |
    RHB002 PHYSICAL, OCCUPATIONAL, AND RESPIRATORY THERAPY TREATMENT | SUD001 SUBSTANCE USE DETOXIFICATION
""".replace("~", "DISEASES AND DISORDERS OF THE ")
_COMMON_PROCEDURES = ["OTR004", "ADM021", "ADM015", "ESA004", "ADM017", "ESA001", "IMG008", "ADM001", "CAR024"]
# Service area, county, its first three digits of zip codes, and how many facilities it has.
_COUNTIES = [
    ("New York City", "Manhattan", "100", 12), ("New York City", "Kings", "112", 11),
    ("New York City", "Bronx", "104", 8), ("New York City", "Queens", "113", 8),
    ("New York City", "Richmond", "103", 2), ("Long Island", "Nassau", "115", 7), ("Long Island", "Suffolk", "117", 7),
    ("Hudson Valley", "Westchester", "105", 6), ("Hudson Valley", "Orange", "109", 5),
    ("Capital/Adirond", "Albany", "122", 3), ("Capital/Adirond", "Warren", "128", 2), ("Western NY", "Erie", "142", 6),
    ("Western NY", "Niagara", "143", 2), ("Finger Lakes", "Monroe", "146", 5), ("Finger Lakes", "Chemung", "149", 2),
    ("Central NY", "Oneida", "135", 4),
]
_PLACES = [
    "Alderbrook", "Briar Hill", "Calloway", "Dunmore Park", "Eastlake", "Fernwood", "Gable Point", "Hollis Creek",
    "Ivyfield", "Kestrel Bay", "Larch Street", "Maplehurst", "Northcote", "Orchard Hill", "Quince Harbor", "Rowan",
    "Saint Odran", "Saint Petra", "Tamarack", "Underhill", "Vesper", "Whitlock", "Yarrow", "Cedar Sound", "Harrow Lake",
    "Millstone", "Old Ferry", "Stonewall", "Saint Aldous", "Pemberley",
]
_KINDS = ["Hospital", "Medical Center", "Memorial Hospital", "Community Hospital", "General Hospital", "Clinic"]
# Where one category ends and the next begins, and the days after which a stay ends, on the scale of the normals.
_LIMITS = {
    "age": [-1.29, -0.87, -0.09, 0.93], "severity": [-1.14, 0.01, 1.46], "mortality": [-0.47, 0.43, 1.57],
    "urgency": [-1.58, -1.21], "disposition": [0.85, 1.35, 1.43, 1.61, 2.22, 2.34],
    "stay": [-1.11, -0.37, 0.07, 0.36, 0.58, 0.75, 0.91, 1.04, 1.27, 1.44, 1.62, 1.85, 2.07, 2.28, 2.5, 2.77, 2.98,
             3.14, 3.38, 3.71, 3.83],
}
_DAYS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 21, 25, 30, 40, 50, 60, 80, 100, 120]
_AGES = ["0 to 17", "18 to 29", "30 to 49", "50 to 69", "70 or Older"]
_LEVELS = ["Minor", "Moderate", "Major", "Extreme"]
_ADMISSIONS = ["Elective", "Urgent", "Emergency", "Newborn"]
_DISPOSITIONS = [
    "Home or Self Care", "Home w/ Home Health Services", "Inpatient Rehabilitation Facility", "Short-term Hospital",
    "Skilled Nursing Home", "Hospice - Home", "Expired", "Left Against Medical Advice",
]
_RACES = ["Other Race", "White", "Black/African American", "Multi-racial"]
_ETHNICITIES = ["Not Span/Hispanic", "Spanish/Hispanic", "Unknown", "Multi-ethnic"]
_PAYERS = [
    "Medicaid", "Medicare", "Private Health Insurance", "Blue Cross/Blue Shield", "Self-Pay", "Miscellaneous/Other",
    None,
]
# Shares per thousand: races outside and in New York City, arrivals through the emergency department for each type of
# admission, payers for each age group.
_RACE_SHARES = [[220, 620, 140, 20], [450, 260, 270, 20]]
_EMERGENCY_SHARES = [[945, 55], [880, 120], [96, 904], [1000, 0]]
_FIRST_PAYERS = [
    [678, 0, 249, 58, 12, 3, 0], [730, 22, 181, 51, 10, 6, 0], [562, 74, 289, 58, 11, 6, 0],
    [413, 364, 169, 40, 8, 6, 0], [44, 922, 23, 4, 5, 2, 0],
]
_SECOND_PAYERS = [
    [60, 0, 4, 4, 95, 0, 837], [109, 1, 7, 1, 49, 0, 833], [114, 4, 7, 4, 79, 0, 792], [246, 31, 40, 13, 38, 10, 622],
    [321, 62, 174, 40, 5, 29, 369],
]
_THIRD_PAYERS = [24, 0, 3, 1, 60, 0, 912]
_GROUP_FIELDS = [
    "APR DRG Code", "APR MDC Code", "share", "CCSR Diagnosis Code", "procedure", *_DEPENDENCE.names, "cost",
    "APR Medical Surgical Description", "APR DRG Description",
]
# fmt: on
_FACILITY_FIELDS = ["Hospital Service Area", "Hospital County", "zip", "facilities"]
_MOTHERS, _NEWBORNS, _LARGE_NEWBORNS = 14, 15, 640


def generate(rows: int, generator: np.random.Generator) -> pl.DataFrame:
    """Draw a table of hospital discharges.

    Args:
        rows: how many discharges.
        generator: where chance comes from; the same state gives the same table.

    Returns:
        One row for each discharge, with the official columns `COLUMNS`. The facilities are the same in every table.

    Raises:
        BadInput: `rows` is less than 1.
    """
    copula.require_rows(rows)
    frame = pl.concat([_sample(_GROUPS, rows, generator), _sample(_FACILITIES, rows, generator)], how="horizontal")
    normals = {name: drawn + frame[name].to_numpy() for name, drawn in _DEPENDENCE.draw(rows, generator).items()}
    frame = frame.with_columns(
        **_describe_patient(frame, normals["age"], generator),
        **_describe_course(frame, normals, generator),
        **_name_procedures(frame, generator),
    )
    return frame.with_columns(**_bill(frame, generator)).select(COLUMNS)


def _read_groups() -> pl.DataFrame:
    """The table of groups, with codes spelled out and offsets in units."""
    rows = [line.split(maxsplit=len(_GROUP_FIELDS) - 1) for line in _GROUP_TABLE.strip().splitlines()]
    return pl.DataFrame(rows, schema=_GROUP_FIELDS, orient="row").with_columns(
        pl.col("APR MDC Code").replace_strict(_MEANING_OF).alias("APR MDC Description"),
        pl.col("CCSR Diagnosis Code").replace_strict(_MEANING_OF).alias("CCSR Diagnosis Description"),
        pl.col("APR Medical Surgical Description").replace_strict({"M": "Medical", "S": "Surgical"}),
        pl.col("APR DRG Code", "APR MDC Code", "share").cast(pl.Int64),
        pl.col(*_DEPENDENCE.names, "cost").cast(pl.Float64) / 10.0,
    )


def _found_facilities() -> pl.DataFrame:
    """Facilities of very unequal sizes, which keep patients and charge for it a little differently."""
    counties = [county for county in _COUNTIES for _ in range(county[-1])]
    number = np.arange(len(counties))
    # Each place has three facilities, of kinds that are two apart.
    names = [f"{_PLACES[i % 30]} {_KINDS[(i + i // 30 * 2) % 6]}" for i in number]
    return pl.DataFrame(counties, schema=_FACILITY_FIELDS, orient="row").with_columns(
        pl.Series("Operating Certificate Number", 7_000_001 + 1_000 * number),
        pl.Series("Permanent Facility Id", 9_001 + 7 * number),
        pl.Series("Facility Name", names),
        pl.Series("share", np.exp(1.2 * _scatter(number, 0.618034))),
        pl.Series("longer", 0.24 * _scatter(number, 0.414214)),
        pl.Series("dearer", 0.35 * _scatter(number, 0.732051)),
        pl.Series("markup", 1.17 + 0.35 * _scatter(number, 0.302776)),
    )


def _scatter(number: IntArray, step: float) -> FloatArray:
    """Numbers spread like a sample of normals, but the same every time."""
    return np.asarray(ndtri(0.01 + 0.98 * ((number * step) % 1.0)), dtype=np.float64)


_MEANING_OF = dict(entry.strip().split(maxsplit=1) for entry in _MEANINGS.split("|"))
_GROUPS, _FACILITIES = _read_groups(), _found_facilities()


def _sample(choices: pl.DataFrame, rows: int, generator: np.random.Generator) -> pl.DataFrame:
    return choices.drop("share")[copula.choose(choices["share"].to_numpy(), rows, generator)]


def _classify(normals: FloatArray, name: str) -> IntArray:
    return copula.place(normals, np.asarray(_LIMITS[name]))


def _describe_patient(frame: pl.DataFrame, normals: FloatArray, generator: np.random.Generator) -> _Columns:
    rows, mother = len(frame), frame["APR MDC Code"].to_numpy() == _MOTHERS
    age = _classify(normals, "age")
    age = np.select([mother, frame["APR MDC Code"].to_numpy() == _NEWBORNS], [age.clip(1, 2), 0], age)
    in_city = (frame["Hospital Service Area"] == "New York City").to_numpy().astype(np.int64)
    female = (mother | (generator.random(rows) < 0.48)).astype(np.int64)
    return {
        "Age Group": copula.label(_AGES, age),
        "Gender": copula.label(["M", "F"], female),
        "Race": copula.label(_RACES, copula.choose_given(_RACE_SHARES, in_city, generator)),
        "Ethnicity": copula.label(_ETHNICITIES, copula.choose((482, 266, 249, 4), rows, generator)),
        "Zip Code - 3 digits": _write_zip_codes(frame["zip"], generator),
        "Birth Weight": _weigh(frame, generator),
        "Payment Typology 1": copula.label(_PAYERS, copula.choose_given(_FIRST_PAYERS, age, generator)),
        "Payment Typology 2": copula.label(_PAYERS, copula.choose_given(_SECOND_PAYERS, age, generator)),
        "Payment Typology 3": copula.label(_PAYERS, copula.choose(_THIRD_PAYERS, rows, generator)),
    }


def _write_zip_codes(nearby: pl.Series, generator: np.random.Generator) -> pl.Series:
    """Most patients live near the facility, some elsewhere, a few out of the state or nowhere on record."""
    elsewhere = copula.write([county[2] for county in _COUNTIES], len(nearby), generator)
    way = copula.choose((800, 144, 32, 24), len(nearby), generator)
    unplaced = copula.label([None, None, "OOS", None], way)
    return nearby.zip_with(pl.Series(way == 0), elsewhere.zip_with(pl.Series(way == 1), unplaced))


def _weigh(frame: pl.DataFrame, generator: np.random.Generator) -> pl.Series:
    """Birth weights in full hundreds of grams, on either side of the weight that divides the groups of newborns."""
    large = np.clip(3250.0 + 430.0 * generator.standard_normal(len(frame)), 2500.0, 5500.0)
    small = 2000.0 + 500.0 * generator.random(len(frame))
    grams = pl.Series(np.where(frame["APR DRG Code"] == _LARGE_NEWBORNS, large, small))
    nobody = pl.repeat(None, len(frame), dtype=pl.Int64, eager=True)
    return (grams / 100.0).floor().cast(pl.Int64).zip_with(frame["APR MDC Code"] == _NEWBORNS, nobody) * 100


def _describe_course(frame: pl.DataFrame, normals: _Normals, generator: np.random.Generator) -> _Columns:
    newborn = frame["APR MDC Code"].to_numpy() == _NEWBORNS
    admission = np.where(newborn, _ADMISSIONS.index("Newborn"), _classify(normals["urgency"], "urgency"))
    stay = np.interp(normals["stay"] + frame["longer"].to_numpy(), _LIMITS["stay"], _DAYS)
    severity = _classify(normals["severity"], "severity")
    return {
        "Length of Stay": pl.Series(np.ceil(stay).astype(np.int64)),
        "Type of Admission": copula.label(_ADMISSIONS, admission),
        "Emergency Department Indicator": copula.label(
            ["N", "Y"], copula.choose_given(_EMERGENCY_SHARES, admission, generator)
        ),
        "APR Severity of Illness Code": pl.Series(severity + 1),
        "APR Severity of Illness Description": copula.label(_LEVELS, severity),
        "APR Risk of Mortality": copula.label(_LEVELS, _classify(normals["mortality"], "mortality")),
        "Patient Disposition": _discharge(frame, normals["disposition"], generator),
        "Discharge Year": pl.repeat(2022, len(frame), dtype=pl.Int64, eager=True),
    }


def _discharge(frame: pl.DataFrame, normals: FloatArray, generator: np.random.Generator) -> pl.Series:
    """Where patients go; of those who could go home some leave before they are told to, but not with a newborn."""
    place = _classify(normals, "disposition")
    alone = ~frame["APR MDC Code"].is_in([_MOTHERS, _NEWBORNS]).to_numpy()
    leaves = (place == 0) & alone & (generator.random(len(place)) < 0.07)
    return copula.label(_DISPOSITIONS, np.where(leaves, len(_DISPOSITIONS) - 1, place))


def _name_procedures(frame: pl.DataFrame, generator: np.random.Generator) -> _Columns:
    """The procedure of the group; in medical groups, births aside, as often a common one, or none."""
    birth = frame["APR MDC Code"].is_in([_MOTHERS, _NEWBORNS])
    certain = (birth | (frame["APR Medical Surgical Description"] == "Surgical")).to_numpy().astype(np.int64)
    way = copula.choose_given([[36, 34, 30], [100, 0, 0]], certain, generator)
    codes = copula.write(_COMMON_PROCEDURES, len(frame), generator)
    codes = frame["procedure"].zip_with(pl.Series(way == 0), codes)
    codes = codes.zip_with(pl.Series(way < 2), pl.repeat(None, len(frame), dtype=pl.String, eager=True))
    return {
        "CCSR Procedure Code": codes,
        "CCSR Procedure Description": codes.replace_strict(_MEANING_OF, default=None, return_dtype=pl.String),
    }


def _bill(frame: pl.DataFrame, generator: np.random.Generator) -> _Columns:
    """Costs and charges grow with the stay and the severity; each facility has its own level of both."""
    shared, apart, besides = generator.standard_normal((3, len(frame)))
    care = frame["cost"] + 0.8 * frame["Length of Stay"].log() + 0.3 * shared
    care += 0.09 * frame["APR Severity of Illness Code"]
    costs = care + frame["dearer"] + 0.25 * apart
    charges = care + frame["markup"] + 0.15 * besides
    return {"Total Costs": costs.exp().round(2), "Total Charges": charges.exp().round(2)}
