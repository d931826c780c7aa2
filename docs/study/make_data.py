"""Writes the rows of two classes that overlap: three quarters for training, the rest for testing."""

import os
import pathlib
import sys

import numpy as np
import pandas as pd

rows = int(sys.argv[1])
folder = pathlib.Path(os.environ["CHECKSTONE_ARTIFACT_DIR"])
generator = np.random.default_rng(7)
label = generator.integers(0, 2, rows)
table = pd.DataFrame(generator.normal(0, 1.4, (rows, 3)), columns=["width", "height", "weight"])
table["width"] += 1.5 * label
table["height"] -= label
table["label"] = label
table.head(rows * 3 // 4).to_csv(folder / "training.csv", index=False)
table.tail(rows - rows * 3 // 4).to_csv(folder / "testing.csv", index=False)
print(f"[SHAPE] {rows} rows, 3 columns")
