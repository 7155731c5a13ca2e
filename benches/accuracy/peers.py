"""The methods that the accuracy bench compares with, at the defaults of their packages.

Support vector machines get standardised inputs, and a standardised target: their defaults (C = 1, epsilon = 0.1) mean nothing
without. Nothing else is set but the seed, one thread and silence. Times are processor seconds, which other work on the
machine does not change much.
"""

import os
import pickle
import tempfile
import time

import catboost
import lightgbm
import numpy as np
import sklearn
import xgboost
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from tables import REGRESSION

THREADS = 1

# Predictions are repeated until they took this long.
TIMED_SECONDS = 0.2


def _lightgbm(numbers, seed):
    kind = lightgbm.LGBMRegressor if numbers else lightgbm.LGBMClassifier
    return kind(random_state=seed, n_jobs=THREADS, verbose=-1)


def _xgboost(numbers, seed):
    kind = xgboost.XGBRegressor if numbers else xgboost.XGBClassifier
    return kind(random_state=seed, n_jobs=THREADS)


def _catboost(numbers, seed):
    kind = catboost.CatBoostRegressor if numbers else catboost.CatBoostClassifier
    return kind(random_seed=seed, thread_count=THREADS, verbose=False, allow_writing_files=False)


def _random_forest(numbers, seed):
    kind = RandomForestRegressor if numbers else RandomForestClassifier
    return kind(random_state=seed, n_jobs=THREADS)


def _support_vectors(numbers, seed):
    machine = make_pipeline(StandardScaler(), SVR() if numbers else SVC(random_state=seed))
    return TransformedTargetRegressor(machine, transformer=StandardScaler()) if numbers else machine


METHODS = {
    "LightGBM": (_lightgbm, lightgbm.__version__),
    "XGBoost": (_xgboost, xgboost.__version__),
    "CatBoost": (_catboost, catboost.__version__),
    "random forest": (_random_forest, sklearn.__version__),
    "SVR/SVC": (_support_vectors, sklearn.__version__),
}


def measure(method, table, train, test, seed):
    """Predictions for the test rows, processor seconds of training, processor microseconds per predicted row, bytes of the
    model."""
    make, _ = METHODS[method]
    numbers = table.task == REGRESSION
    targets = table.targets if numbers else np.unique(table.targets, return_inverse=True)[1]
    model = make(numbers, seed)
    start = time.process_time()
    model.fit(table.inputs[train], targets[train])
    trained, repeats = time.process_time(), 0
    while time.process_time() - trained < TIMED_SECONDS:
        predictions, repeats = np.asarray(model.predict(table.inputs[test])).reshape(-1), repeats + 1
    per_row = 1e6 * (time.process_time() - trained) / (repeats * len(test))
    if not numbers:
        predictions = np.unique(table.targets)[predictions.astype(int)]
    return predictions, trained - start, per_row, _model_bytes(model)


def _model_bytes(model):
    """As the package itself writes a model; pickled where it has no format of its own."""
    if isinstance(model, (lightgbm.LGBMRegressor, lightgbm.LGBMClassifier)):
        return len(model.booster_.model_to_string().encode())
    if isinstance(model, (xgboost.XGBRegressor, xgboost.XGBClassifier)):
        return len(model.get_booster().save_raw())
    if isinstance(model, catboost.CatBoost):
        with tempfile.NamedTemporaryFile() as file:
            model.save_model(file.name)
            return os.path.getsize(file.name)
    return len(pickle.dumps(model))
