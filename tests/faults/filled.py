"""A service with one dataset and one model, and what the model predicts."""

MODEL = "waves"
ROW = [0.3, 0.7]


def waves(rows=300):
    cells = [(i * 0.618034 % 1, i * 0.414214 % 1) for i in range(rows)]
    return ("a,b,y\n" + "".join(f"{a:.6f},{b:.6f},{a * b + a:.6f}\n" for a, b in cells)).encode()


def fill(client):
    """Uploads and trains; the predictions."""
    answer = client.send("POST", "/api/v1/datasets?name=waves", waves(), "text/csv")
    assert answer.status == 201, answer
    train(client, MODEL, "waves")
    return predict(client)


def train(client, model, dataset):
    spec = {"effort": "fast", "features": {"count": 32}, "lambda": 1e-3, "guarantees": {"exact_rows": 0}}
    answer = client.send("POST", "/api/v1/jobs", {"model": model, "dataset": dataset, "spec": spec}, prefer="wait=60")
    assert answer.status == 200 and answer.json()["status"] == "succeeded", answer


def predict(client, model=MODEL):
    answer = client.send("POST", f"/api/v1/models/{model}/predict", {"rows": [ROW]})
    assert answer.status == 200, answer
    return answer.json()["predictions"]
