"""Trains one logistic regression by stochastic gradient descent. Every ten epochs it keeps its state and says so, so that
an attempt after an interrupt continues from there and comes to the same result."""

import json
import os
import pathlib
import sys

import numpy as np
import pandas as pd

rate, seed, epochs = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
folder = pathlib.Path(os.environ["CHECKSTONE_ARTIFACT_DIR"])
generator = np.random.default_rng(seed)


def read(name):
    table = pd.read_csv(os.environ[name])
    rows = np.column_stack([np.ones(len(table)), table[["width", "height", "weight"]]])
    return rows, table["label"].to_numpy()


def probability(rows, weights):
    return 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))


rows, labels = read("CHECKSTONE_INPUT_TRAINING")
weights, history, begin = generator.normal(0, 3, rows.shape[1]), [], 0

# What an interrupted attempt had kept is here.
kept = pathlib.Path(os.environ.get("CHECKSTONE_RESUME_DIR", "/nowhere")) / "state.json"
if kept.is_file():
    state = json.loads(kept.read_text())
    weights, history, begin = np.array(state["weights"]), state["history"], state["epoch"]
    generator.bit_generator.state = state["generator"]
    print(f"[INFO] continues after epoch {begin}")

for epoch in range(begin + 1, epochs + 1):
    for batch in np.array_split(generator.permutation(len(rows)), 20):
        error = probability(rows[batch], weights) - labels[batch]
        weights = weights - rate * rows[batch].T @ error / len(batch)
    p = np.clip(probability(rows, weights), 1e-9, 1 - 1e-9)
    history.append(float(-np.mean(labels * np.log(p) + (1 - labels) * np.log(1 - p))))
    if epoch % 10 == 0:
        state = {"epoch": epoch, "weights": weights.tolist(), "history": history, "generator": generator.bit_generator.state}
        (folder / "state.json").write_text(json.dumps(state))
        print(f"[STAGE:progress:pct={100 * epoch // epochs}:msg=epoch {epoch} of {epochs}]")
        print(f"[CHECKPOINT:saved:id=epoch-{epoch}]", flush=True)

unseen, truth = read("CHECKSTONE_INPUT_TESTING")
accuracy = float(np.mean((probability(unseen, weights) > 0.5) == truth))
metrics = {"accuracy": accuracy, "loss": history[-1]}
(folder / "metrics.json").write_text(json.dumps(metrics))
pd.DataFrame({"epoch": range(1, epochs + 1), "loss": history}).to_csv(folder / "history.csv", index=False)
