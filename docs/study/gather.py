"""Puts the metrics of all models, with the parameters of each, into one table."""

import json
import os
import pathlib

import pandas as pd

models = json.loads(pathlib.Path(os.environ["CHECKSTONE_INPUTS"]).read_text())["metrics"]
results = pd.DataFrame([{**model["parameters"], **json.loads(pathlib.Path(model["path"]).read_text())} for model in models])
results = results[["rate", "seed", "accuracy", "loss"]].sort_values(["rate", "seed"])
results.to_csv(pathlib.Path(os.environ["CHECKSTONE_ARTIFACT_DIR"]) / "results.csv", index=False)
mean = results.groupby("rate")["accuracy"].mean()
print(f"[METRIC:best_rate] {mean.idxmax()}")
print(f"[METRIC:best_accuracy] {mean.max():.3f}")
print(f"[FINDING] A learning rate of {mean.idxmax()} is best: {mean.max():.1%} of unseen rows, over {results['seed'].nunique()} seeds")
