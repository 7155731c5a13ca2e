//! Every plot of the closed set: its numbers are those of the API's other answers. A plot that no check knows fails here.

use crate::harness::Service;
use crate::plot_forms::same_in_every_form;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A model, the rows of its table, and which of them were held out if that is known.
struct Known<'a> {
    service: &'a Service,
    model: &'a str,
    inputs: Vec<Value>,
    truths: Vec<Value>,
    held_out: Option<std::ops::Range<usize>>,
}

/// A table of numbers and truth values with its target last, as rows for predictions and what they should be.
fn rows_of(table: &str) -> (Vec<Value>, Vec<Value>) {
    let cell = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    let row = |line: &str| {
        let mut cells: Vec<Value> = line.split(',').map(cell).collect();
        let truth = cells.pop().unwrap();
        (json!(cells), truth)
    };
    table.lines().skip(1).map(row).unzip()
}

/// Numbers that depend on two of three columns.
fn numbers(rows: usize) -> String {
    let row = |i: usize| {
        let [u, v, w] = [0.618_034, 0.754_878, 0.569_84].map(|step| (i as f64 * step).fract());
        let noise = (i as f64 * 0.414_214).fract() - 0.5;
        format!("{u:.5},{v:.5},{w:.5},{:.6}\n", 3.0 * (6.0 * u).sin() + 2.0 * v + 0.4 * noise)
    };
    std::iter::once("u,v,w,y\n".to_owned()).chain((0..rows).map(row)).collect()
}

/// Labels by two columns, some of them wrong; `t` counts the rows, so that the latest can be held out.
fn labels(rows: usize) -> String {
    let row = |i: usize| {
        let [u, v] = [0.618_034, 0.754_878].map(|step| (i as f64 * step).fract());
        let is_high = (u + v > 1.0) != i.is_multiple_of(11);
        format!("{u:.5},{v:.5},{i},{}\n", if is_high { "high" } else { "low" })
    };
    std::iter::once("u,v,t,kind\n".to_owned()).chain((0..rows).map(row)).collect()
}

#[tokio::test]
async fn every_plot_has_the_numbers_of_the_api_in_every_form() {
    let service = Service::start();
    let (first, second) = (numbers(400), labels(600));
    service.upload("name=numbers", first.clone()).await.ok(201);
    service.upload("name=labels", second.clone()).await.ok(201);
    let spec =
        json!({"features": {"count": 64}, "calibration_fraction": 0.2, "explanations": true, "learning_curve": true});
    service.train("searched", "numbers", &spec).await;
    service
        .train(
            "metric",
            "numbers",
            &json!({"features": {"count": 16}, "calibration_fraction": 0.2, "kernel": {"metric": "diagonal"}}),
        )
        .await;
    // A large λ is one at which theorems say something before training.
    service
        .train("smooth", "numbers", &json!({"features": {"count": 64}, "calibration_fraction": 0.2, "lambda": 0.5}))
        .await;
    let spec = json!({"features": {"count": 32}, "learner": "logistic", "explanations": true, "learning_curve": true,
        "split": {"by": "time", "column": "t"}});
    service.train("kinds", "labels", &spec).await;

    let mut seen = BTreeSet::new();
    for (model, table) in [("searched", &first), ("metric", &first), ("smooth", &first), ("kinds", &second)] {
        let (mut inputs, truths) = rows_of(table);
        let by_time = model == "kinds";
        if by_time {
            for row in &mut inputs {
                row.as_array_mut().unwrap().pop();
            }
        }
        let held_out = by_time.then(|| truths.len() * 4 / 5..truths.len());
        let known = Known { service: &service, model, inputs, truths, held_out };
        let listed = service.get(&format!("/api/v1/models/{model}/plots")).await.ok(200);
        for plot in listed["plots"].as_array().unwrap() {
            let name = plot["name"].as_str().unwrap();
            if plot["missing"].is_null() {
                known.check(name, &same_in_every_form(&service, model, name).await).await;
                seen.insert(name.to_owned());
            }
        }
        let every: BTreeSet<String> =
            listed["plots"].as_array().unwrap().iter().map(|plot| plot["name"].as_str().unwrap().to_owned()).collect();
        if by_time {
            assert_eq!(seen, every, "each plot is compared for some model");
        }
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The x and y of a series.
fn series(rows: &[Vec<Value>], name: &str) -> Vec<(f64, f64)> {
    let found: Vec<_> =
        rows.iter().filter(|row| row[0] == name).map(|row| (number(&row[1]), number(&row[2]))).collect();
    assert!(!found.is_empty(), "no series '{name}' in {rows:?}");
    found
}

fn points(list: &Value, x: &str, y: &str) -> Vec<(f64, f64)> {
    list.as_array().unwrap().iter().map(|point| (number(&point[x]), number(&point[y]))).collect()
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * (1.0 + right.abs())
}

impl Known<'_> {
    async fn get(&self, rest: &str) -> Value {
        self.service.get(&format!("/api/v1/models/{}{rest}", self.model)).await.ok(200)
    }

    /// What the API predicts for the rows of the table.
    async fn predict(&self, outputs: &[&str], delta: f64) -> Vec<Value> {
        let request = json!({"rows": self.inputs, "outputs": outputs, "delta": delta});
        let answer = self.service.post(&format!("/api/v1/models/{}/predict", self.model), &request).await.ok(200);
        serde_json::from_value(answer["predictions"].clone()).unwrap()
    }

    async fn check(&self, plot: &str, rows: &[Vec<Value>]) {
        let latest = self.get("").await["latest"].clone();
        let report = &latest["report"];
        match plot {
            "error-by-features" => self.distances(rows, &latest).await,
            "predicted-actual" | "residuals" => self.held_out_rows(plot, rows, report).await,
            "coverage" => self.coverage(rows, report).await,
            "interval-width" => self.widths(rows).await,
            "roc" | "precision-recall" => self.ranking(plot, rows).await,
            "confusion" => {
                let counts: Vec<&[Value]> = rows.iter().map(|row| &row[1..]).collect();
                assert_eq!(json!(counts), report["confusion"]);
            }
            "reliability" => {
                assert_eq!(series(rows, "This model"), points(&report["reliability"], "confidence", "accuracy"));
                assert_eq!(series(rows, "Perfectly calibrated"), [(0.0, 0.0), (1.0, 1.0)]);
            }
            "lambda-path" => lambda_path(rows, report),
            "spectrum" | "leverage" => {
                let spectrum = self.get("/spectrum").await;
                if plot == "leverage" {
                    let found = points(&spectrum["leverage"]["points"], "lambda", "largest");
                    let dimension = points(&spectrum["effective_dimension"]["grid"], "lambda", "dimension");
                    assert_eq!(series(rows, "Effective dimension"), dimension);
                    return assert_eq!(series(rows, "Largest leverage"), found);
                }
                assert_eq!(series(rows, "Eigenvalues"), points(&spectrum["eigenvalues"]["values"], "rank", "value"));
                let (dimension, lambda) = (&spectrum["effective_dimension"]["at_lambda"], number(&spectrum["lambda"]));
                assert_eq!(series(rows, "Effective dimension"), [(number(dimension), lambda)]);
                assert!(series(rows, "λ").iter().all(|(_, height)| *height == lambda));
            }
            "importance" => {
                let explained = self.get("/explanations").await;
                let columns = explained["columns"].as_array().unwrap();
                assert_eq!(rows.len(), columns.len());
                for column in columns {
                    let row = rows.iter().find(|row| row[0] == column["column"]).unwrap();
                    let found = &column["permutation"];
                    assert_eq!((&row[1], &row[2]), (&found["loss_increase"], &found["standard_error"]));
                }
                assert!(rows.is_sorted_by(|above, below| number(&above[1]) >= number(&below[1])), "{rows:?}");
            }
            "partial-dependence" => self.dependence().await,
            "metric-by-round" => metric(rows, &report["metric"]["rounds"]),
            "learning-curve" => {
                let found = &report["learning_curve"]["points"];
                let errors = if report["validation_accuracy"].is_null() {
                    points(found, "training_rows", "mse")
                } else {
                    points(found, "training_rows", "accuracy").iter().map(|(x, y)| (*x, 1.0 - y)).collect()
                };
                assert_eq!(series(rows, "Held-out error"), errors);
            }
            other => panic!("nothing compares the numbers of the plot '{other}' with the API's: add a check"),
        }
    }

    /// What is proved, estimated and measured, and what the planner asks for.
    async fn distances(&self, rows: &[Vec<Value>], latest: &Value) {
        let report = &latest["report"];
        let found = self.get("/guarantees?all=true").await;
        let certificate =
            found["guarantees"].as_array().unwrap().iter().find(|item| item["id"] == "bochner.certificate_mean");
        let measured = &found["measured"];
        let mut planned = 0;
        for row in rows {
            let error = match row[0].as_str().unwrap() {
                "Proved for this model" => &certificate.unwrap()["value"],
                "Estimated (jackknife)" => {
                    assert_eq!(json!([row[3], row[4]]), measured["jackknife_interval"]);
                    &measured["jackknife_error"]
                }
                "Measured" => &measured["exact_krr_error"],
                theorem => {
                    let id = theorem.strip_prefix("Proved before training (").unwrap().strip_suffix(')').unwrap();
                    planned += 1;
                    let largest =
                        rows.iter().filter(|row| row[0] == theorem).map(|row| number(&row[2])).fold(0.0, f64::max);
                    let request = json!({"n": report["training_rows"], "d": report["input_dim"], "y_mean_square": largest,
                        "kernel": {"name": latest["kernel"]["name"]}, "lambda": report["lambda"], "delta": found["delta"],
                        "target": {"error": row[2]}});
                    let plan = self.service.post("/api/v1/plan", &request).await.ok(200);
                    let choice = plan["choices"].as_array().unwrap().iter().find(|choice| choice["id"] == id).unwrap();
                    assert_eq!(number(&row[1]), number(&choice["feature_count"]), "{theorem}");
                    continue;
                }
            };
            assert_eq!(
                (&row[1], number(&row[2])),
                (&json!(number(&report["feature_count"])), number(error)),
                "{row:?}"
            );
        }
        assert!(self.model != "smooth" || planned > 0, "at this λ theorems say something before training: {rows:?}");
    }

    /// Each point is a row of the table with its prediction and interval.
    async fn held_out_rows(&self, plot: &str, rows: &[Vec<Value>], report: &Value) {
        let predicted = self.predict(&["value", "interval"], 0.05).await;
        let drawn: Vec<&Vec<Value>> = rows.iter().filter(|row| row[0] == "Held-out rows").collect();
        assert_eq!(json!(drawn.len()), report["validation_rows"]);
        for row in drawn {
            let [x, y] = [number(&row[1]), number(&row[2])];
            let is_it = |(answer, truth): (&Value, &Value)| {
                if plot == "residuals" {
                    near(x, number(&answer["value"])) && near(y, number(truth) - number(&answer["value"]))
                } else {
                    let ends = [&answer["interval"]["low"], &answer["interval"]["high"]].map(number);
                    x == number(truth)
                        && near(y, number(&answer["value"]))
                        && near(number(&row[3]), ends[0])
                        && near(number(&row[4]), ends[1])
                }
            };
            assert!(predicted.iter().zip(&self.truths).any(is_it), "{plot}: no row is predicted as {row:?}");
        }
    }

    /// The share of held-out rows whose interval or label set at that level has the truth.
    async fn coverage(&self, rows: &[Vec<Value>], report: &Value) {
        let levels = series(rows, "Measured");
        let held_out: Vec<usize> = if let Some(range) = &self.held_out {
            range.clone().collect()
        } else {
            let known = self.get("/plots/predicted-actual.json").await;
            let known = known["rows"].as_array().unwrap();
            let actual = |truth: &Value| known.iter().any(|row| row[0] == "Held-out rows" && row[1] == *truth);
            (0..self.truths.len()).filter(|index| actual(&self.truths[*index])).collect()
        };
        assert_eq!(json!(held_out.len()), report["validation_rows"]);
        assert!(number(&report["calibration_rows"]) > 0.0 && levels.len() >= 8, "{levels:?}");
        for (level, share) in levels {
            let delta = ((1.0 - level) * 100.0).round() / 100.0;
            let by_labels = self.held_out.is_some();
            let answers = self.predict(if by_labels { &["label_set"] } else { &["interval"] }, delta).await;
            let covers = |index: &&usize| {
                let (answer, truth) = (&answers[**index], &self.truths[**index]);
                if by_labels {
                    return answer["label_set"]["labels"].as_array().unwrap().contains(truth);
                }
                number(&answer["interval"]["low"]) <= number(truth)
                    && number(truth) <= number(&answer["interval"]["high"])
            };
            let counted = held_out.iter().filter(covers).count() as f64 / held_out.len() as f64;
            assert_eq!(share, counted, "at {level}");
        }
    }

    /// Every width is that of an interval of the API.
    async fn widths(&self, rows: &[Vec<Value>]) {
        for (level, width) in series(rows, "Proved width") {
            let delta = ((1.0 - level) * 100.0).round() / 100.0;
            let request = json!({"rows": [self.inputs[0]], "outputs": ["interval"], "delta": delta});
            let answer = self.service.post(&format!("/api/v1/models/{}/predict", self.model), &request).await.ok(200);
            let interval = &answer["predictions"][0]["interval"];
            assert!(near(width, number(&interval["high"]) - number(&interval["low"])), "at {level}: {answer}");
        }
    }

    /// Both curves, counted from the probabilities that the API gives the held-out rows.
    async fn ranking(&self, plot: &str, rows: &[Vec<Value>]) {
        let answers = self.predict(&["probabilities"], 0.05).await;
        let mut ranked: Vec<(f64, bool)> = self
            .held_out
            .clone()
            .unwrap()
            .map(|row| (number(&answers[row]["probabilities"]["low"]), self.truths[row] == "low"))
            .collect();
        ranked.sort_by(|left, right| right.0.total_cmp(&left.0));
        let all = ranked.iter().filter(|row| row.1).count() as f64;
        let others = ranked.len() as f64 - all;
        let (mut found, mut mistaken) = (0.0, 0.0);
        let mut expected = if plot == "roc" { vec![(0.0, 0.0)] } else { vec![] };
        for (_, is_low) in ranked {
            (found, mistaken) = if is_low { (found + 1.0, mistaken) } else { (found, mistaken + 1.0) };
            expected.push(if plot == "roc" {
                (mistaken / others, found / all)
            } else {
                (found / all, found / (found + mistaken))
            });
        }
        let name = rows.iter().find(|row| row[0].as_str().unwrap().starts_with("low (")).unwrap()[0].as_str().unwrap();
        let drawn = series(rows, name);
        assert_eq!(drawn.len(), expected.len());
        for (one, other) in drawn.iter().zip(&expected) {
            assert!(near(one.0, other.0) && near(one.1, other.1), "{plot}: {one:?} and {other:?}");
        }
        let guess =
            if plot == "roc" { [(0.0, 0.0), (1.0, 1.0)] } else { [0.0, 1.0].map(|x| (x, all / (all + others))) };
        assert_eq!(series(rows, "Random guess"), guess);
    }

    /// The curve of each column.
    async fn dependence(&self) {
        let explained = self.get("/explanations").await;
        for column in explained["columns"].as_array().unwrap() {
            let name = column["column"].as_str().unwrap();
            let plot = self.get(&format!("/plots/partial-dependence.json?column={name}")).await;
            let rows: Vec<Vec<Value>> = serde_json::from_value(plot["rows"].clone()).unwrap();
            let found = &column["partial_dependence"];
            for (output, values) in found["outputs"].as_object().unwrap() {
                let places = found["points"].as_array().unwrap().iter().zip(values.as_array().unwrap());
                let expected: Vec<_> = places.map(|(x, y)| (number(x), number(y))).collect();
                assert_eq!(series(&rows, output), expected, "{name}");
            }
        }
    }
}

fn lambda_path(rows: &[Vec<Value>], report: &Value) {
    let path = &report["lambda_path"];
    let fields = if report["validation_accuracy"].is_null() {
        vec![
            ("Leave-one-out error", "loo_mse"),
            ("Training error", "training_mse"),
            ("Generalised cross-validation", "gcv"),
        ]
    } else {
        vec![("Validation loss", "validation_loss")]
    };
    for (name, field) in fields {
        assert_eq!(series(rows, name), points(path, "lambda", field), "{name}");
    }
    assert!(series(rows, "λ of this model").iter().all(|(x, _)| *x == number(&report["lambda"])));
}

fn metric(rows: &[Vec<Value>], rounds: &Value) {
    let rounds = rounds.as_array().unwrap();
    let drawn: Vec<&Vec<Value>> = rows.iter().filter(|row| row[0] != "Best of the round").collect();
    assert_eq!(drawn.len(), rounds.len());
    for round in rounds {
        let place = (number(&round["round"]), number(&round["loo_mse"]));
        assert!(series(rows, round["metric"].as_str().unwrap()).contains(&place), "{round}");
    }
    for (at, best) in series(rows, "Best of the round") {
        let errors = rounds.iter().filter(|round| number(&round["round"]) == at).map(|round| number(&round["loo_mse"]));
        assert_eq!(best, errors.fold(f64::INFINITY, f64::min), "round {at}");
    }
}
