"""scikit-learn's linear classifiers on the same features as `cargo bench --bench classifiers`.

Reads inputs (f32, n x d), frequencies (f64, m x d) and classes (i32), makes the pair features in f32, and fits
until the objective is within 1e-4 of the best one known. Prints one JSON line: the seconds of the first attempt
that got there, features included, or null if none did within the time allowed. Run by `make bench-peers`.
"""

import json
import sys
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

warnings.filterwarnings("ignore")
inputs, frequencies, classes, n, d, learner, ridge, best, allowed = sys.argv[1:10]
n, d, ridge, best, allowed = int(n), int(d), float(ridge), float(best), float(allowed)
x = np.fromfile(inputs, dtype="<f4").reshape(n, d)
v = np.fromfile(frequencies, dtype="<f8").reshape(-1, d)
y = np.fromfile(classes, dtype="<i4")
count = int(y.max()) + 1

start = time.perf_counter()
angles = x @ v.T.astype(np.float32)
features = np.empty((n, 2 * len(v)), dtype=np.float32)
np.cos(angles, out=features[:, : len(v)])
np.sin(angles, out=features[:, len(v) :])
features *= np.float32(1 / np.sqrt(len(v)))
feature_seconds = time.perf_counter() - start
del angles


def objective(model):
    weights, intercepts = model.coef_.astype(float), model.intercept_.astype(float)
    values = features @ weights.T.astype(np.float32) + intercepts
    penalty = ridge * np.sum(weights**2)
    if learner == "logistic" and count > 2:
        top = values.max(axis=1)
        return np.mean(np.log(np.exp(values - top[:, None]).sum(axis=1)) + top - values[np.arange(n), y]) + penalty
    signs = np.where(y[:, None] == (np.arange(count) if count > 2 else [1]), 1.0, -1.0)
    margins = signs * values
    losses = np.logaddexp(0, -margins) if learner == "logistic" else np.maximum(0, 1 - margins) ** 2
    return losses.mean(axis=0).sum() + penalty


def attempts():
    c = 1 / (2 * n * ridge)
    if learner == "logistic":
        for iterations in (25, 50, 100, 200, 400, 800):
            yield LogisticRegression(C=c, solver="lbfgs", max_iter=iterations, tol=1e-12)
    else:
        for tolerance in (1e-1, 1e-2, 1e-3, 1e-4):
            yield LinearSVC(C=c, loss="squared_hinge", dual="auto", tol=tolerance, max_iter=100000)


reached, spent, closest = None, 0.0, np.inf
for model in attempts():
    if spent > allowed:
        break
    start = time.perf_counter()
    model.fit(features, y)
    seconds = time.perf_counter() - start
    spent += seconds
    above = objective(model) / best - 1
    closest = min(closest, above)
    if above <= 1e-4:
        reached = feature_seconds + seconds
        break
print(json.dumps({"seconds": reached, "feature_seconds": feature_seconds, "spent": spent, "closest": closest}))
