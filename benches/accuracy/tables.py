"""The public tables of the accuracy bench: read, capped and split the same way for every method.

Tables come from the folder BOCHNER_DATA (NAME.csv.gz, one header row, numbers only, the target last) and from
scikit-learn's own package. A table with NAME.groups.csv.gz beside it is split by its first two columns joined: rows of one
group, such as pieces of one recording, never lie on both sides.
"""

import csv
import functools
import gzip
import pathlib
from dataclasses import dataclass

import numpy as np
import pandas
from sklearn import datasets
from sklearn.model_selection import GroupShuffleSplit, train_test_split

TEST_SHARE = 0.2


@dataclass
class Table:
    name: str
    task: str
    inputs: np.ndarray
    targets: np.ndarray
    groups: np.ndarray | None = None


REGRESSION = "regression"
CLASSIFICATION = "classification"

# Name of the table, file in BOCHNER_DATA, task. The popularity of news has such a heavy tail that it is read as its logarithm.
FILES = [
    ("airfoil", "airfoil", REGRESSION),
    ("concrete", "concrete", REGRESSION),
    ("winequality_red", "winequality_red", REGRESSION),
    ("abalone", "abalone", REGRESSION),
    ("cpusmall", "cpusmall", REGRESSION),
    ("california_housing", "california_housing", REGRESSION),
    ("online_news (log)", "online_news_part", REGRESSION),
    ("banknote", "banknote", CLASSIFICATION),
    ("adult", "adult.train", CLASSIFICATION),
    ("covtype", "covtype.60k", CLASSIFICATION),
    ("letter", "letter.train", CLASSIFICATION),
    ("epileptic_seizure", "epileptic_seizure", CLASSIFICATION),
]
PACKAGED = [
    ("diabetes", datasets.load_diabetes, REGRESSION),
    ("breast_cancer", datasets.load_breast_cancer, CLASSIFICATION),
    ("wine", datasets.load_wine, CLASSIFICATION),
    ("iris", datasets.load_iris, CLASSIFICATION),
    ("digits", datasets.load_digits, CLASSIFICATION),
]


def names():
    return [name for name, _, _ in FILES + PACKAGED]


def task(name):
    return next(task for known, _, task in FILES + PACKAGED if known == name)


@functools.cache
def load(name, folder, rows):
    """A table with at most `rows` rows, drawn without replacement by a fixed seed."""
    for known, file, task in FILES:
        if known == name:
            table = pandas.read_csv(pathlib.Path(folder) / f"{file}.csv.gz").to_numpy(dtype=float)
            x, y = table[:, :-1], table[:, -1]
            if name.endswith("(log)"):
                y = np.log(y)
            groups = pathlib.Path(folder) / f"{file}.groups.csv.gz"
            return _cap(Table(name, task, x, y, _groups(groups) if groups.exists() else None), rows)
    for known, loader, task in PACKAGED:
        if known == name:
            x, y = loader(return_X_y=True)
            return _cap(Table(name, task, x, y.astype(float)), rows)
    raise SystemExit(f"no table is named {name}; known: {', '.join(names())}")


def split(table, seed):
    """Indices of training and test rows."""
    everything = np.arange(len(table.targets))
    if table.groups is not None:
        splitter = GroupShuffleSplit(n_splits=1, test_size=TEST_SHARE, random_state=seed)
        return next(splitter.split(everything, groups=table.groups))
    labels = table.targets if table.task == CLASSIFICATION else None
    return train_test_split(everything, test_size=TEST_SHARE, random_state=seed, stratify=labels)


def _cap(table, rows):
    if len(table.targets) <= rows:
        return table
    kept = np.sort(np.random.default_rng(0).choice(len(table.targets), rows, replace=False))
    groups = None if table.groups is None else table.groups[kept]
    return Table(table.name, table.task, table.inputs[kept], table.targets[kept], groups)


def _groups(path):
    with gzip.open(path, "rt", newline="") as file:
        return np.array(["/".join(row[:2]) for row in list(csv.reader(file))[1:]])
