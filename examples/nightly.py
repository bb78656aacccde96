"""
A nightly job: later rows on the command line (real data)
=========================================================

Clinic A refined its scores once and saved the result. Every night it refines the tumours that came in. Nobody looks
at the screen, so the exit status and one JSON object must tell the job when something is wrong.
"""

# %%
# Once: refine and save
# ---------------------
# 60 tumours of clinic A are kept for later nights.

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import polars as pl

import manifuse as mf

clinics = mf.datasets.load_clinics(labels=50)
place = tempfile.TemporaryDirectory()
folder = Path(place.name)


def frame_of(table):
    features = {name: table.table[:, place] for place, name in enumerate(table.feature_names)}
    return pl.DataFrame({"id": table.keys, "score": table.scores, **features})


def manifuse(*arguments):
    """Run a command in the folder, and show what it prints."""
    print("$ manifuse", *arguments)
    command = [sys.executable, "-m", "manifuse", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr + f"exit status {done.returncode}")
    return done


ours, reference = frame_of(clinics.main), clinics.references[0]
ours[:-60].write_csv(folder / "ours.csv")
scores = {"id": reference.keys, "score": reference.scores}
pl.DataFrame(scores).write_csv(folder / "theirs.csv")
known = {"id": clinics.labels.keys, "label": clinics.labels.grades}
pl.DataFrame(known).write_csv(folder / "known.csv")

tables = ("ours.csv", "--reference", "theirs.csv", "--labels", "known.csv")
fitted = manifuse("refine", *tables, "--out", "refined.csv", "--save", "model.npz")

# %%
# ``show`` says what is in the model, also in a year:

shown = manifuse("show", "model.npz")

# %%
# Every night
# -----------
# With ``--strict`` a warning is a reason to stop. With ``--json`` a program can read what happened.

tonight = ours[-60:]
tonight.write_csv(folder / "tonight.csv")
night = (
    "apply",
    "model.npz",
    "tonight.csv",
    "--out",
    "tonight-refined.csv",
    "--strict",
    "--json",
)
usual = manifuse(*night)

# %%
# The file has the score before and after, and the standard error of what came out:

refined = pl.read_csv(folder / "tonight-refined.csv")
print(refined.head(3))
figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
axes.errorbar(
    refined["original"], refined["score"], refined["uncertainty"], fmt="o", elinewidth=0.8
)
axes.set(xlabel="tonight's score before", ylabel="after")

# %%
# A column was renamed
# --------------------
# The model needs that column. The job ends with status 2, and writes nothing.

tonight.rename({"radius error": "radius_se"}).write_csv(folder / "tonight.csv")
(folder / "tonight-refined.csv").unlink()
renamed = manifuse(*night)
print("written:", (folder / "tonight-refined.csv").exists())

# %%
# A row returns
# -------------
# One tumour was fitted, and comes again with another score. It is refined again, as a later row. Status 3 says that
# there was a warning; the file is there, so that somebody can decide.

again = ours[:1].with_columns(pl.col("score") + 1)
pl.concat([tonight, again]).write_csv(folder / "tonight.csv")
returned = manifuse(*night)
print([warning["code"] for warning in json.loads(returned.stdout)["warnings"]])

# %%
# The measurements moved
# ----------------------
# A device was changed, and one column is ten times larger. The rows are like none that were fitted.

tonight.with_columns(pl.col("area error") * 10).write_csv(folder / "tonight.csv")
moved = manifuse(*night)
print([warning["code"] for warning in json.loads(moved.stdout)["warnings"]])

# %%
# After status 0 the job goes on. After 3 the code of the warning decides: it stops and asks somebody if the table may not
# be what it seems, as after ``strange_columns``, and else goes on and tells somebody. After 2 it stops.

place.cleanup()
assert [each.returncode for each in (fitted, shown, usual, renamed, returned, moved)] == [
    0,
    0,
    0,
    2,
    3,
    3,
]
