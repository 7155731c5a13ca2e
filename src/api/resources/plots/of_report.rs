//! Plots of the report of the fit and of its explanations. The numbers are those of the API's own answers.

use super::plot_name::{Absent, PlotName, absent};
use crate::model::FittedModel;
use crate::plots::{Axis, Bar, BarChart, Drawing, MatrixChart, Plot, Scale, Spot, Trace, XyChart, short_number};
use serde_json::Value;

/// The errors at every λ that was tried.
pub(super) fn lambda_path(model: &FittedModel) -> Result<Plot, Absent> {
    let report = model.report.to_json();
    let path: Vec<&Value> = report["lambda_path"].as_array().into_iter().flatten().collect();
    if path.is_empty() {
        return absent("λ was given, not searched for; train with \"lambda\": \"search\"");
    }
    let series = [
        ("Leave-one-out error", "loo_mse"),
        ("Training error", "training_mse"),
        ("Generalised cross-validation", "gcv"),
        ("Validation loss", "validation_loss"),
    ];
    let trace = |(name, field): (&str, &str)| {
        let spots: Vec<Spot> = path
            .iter()
            .filter_map(|point| Some(Spot::plain(point["lambda"].as_f64()?, point[field].as_f64()?)))
            .collect();
        (!spots.is_empty()).then(|| Trace { name: name.to_owned(), drawing: Drawing::Line, spots })
    };
    let mut traces: Vec<Trace> = series.into_iter().filter_map(trace).collect();
    let errors = || traces.iter().flat_map(|trace| &trace.spots).map(|spot| spot.y).filter(|error| *error > 0.0);
    let ends = [errors().fold(f64::INFINITY, f64::min), errors().fold(0.0, f64::max)];
    if ends.iter().all(|end| end.is_finite()) {
        let spots = ends.map(|error| Spot::plain(model.report.lambda, error)).to_vec();
        traces.push(Trace { name: "λ of this model".to_owned(), drawing: Drawing::Reference, spots });
    }
    let unit = if report["validation_accuracy"].is_null() { "mean squared error" } else { "mean loss" };
    Ok(Plot::Xy(XyChart {
        title: PlotName::LambdaPath.title().to_owned(),
        description: format!(
            "How strongly training smooths is set by λ: a small one follows the rows closely, a large one flattens \
             predictions. These are the errors at each λ that was tried; the dashed line is at λ = {}, which was taken.",
            short_number(model.report.lambda)
        ),
        x: Axis { label: "strength of smoothing λ".to_owned(), scale: Scale::Logarithmic },
        y: Axis { label: unit.to_owned(), scale: Scale::Logarithmic },
        traces,
    }))
}

/// Confidence and share of right labels in bins of the validation rows.
pub(super) fn reliability(model: &FittedModel) -> Result<Plot, Absent> {
    let report = model.report.to_json();
    let bins = report["reliability"].as_array().into_iter().flatten();
    let spots: Vec<Spot> =
        bins.filter_map(|bin| Some(Spot::plain(bin["confidence"].as_f64()?, bin["accuracy"].as_f64()?))).collect();
    if spots.is_empty() {
        return absent("it needs a classifier with probabilities and held-out rows; train with the learner logistic");
    }
    let diagonal = vec![Spot::plain(0.0, 0.0), Spot::plain(1.0, 1.0)];
    Ok(Plot::Xy(XyChart {
        title: PlotName::Reliability.title().to_owned(),
        description:
            "Held-out rows in groups by how sure the model is of its label (to the right), and the share of each group \
             whose label is right (upwards). On the dashed line the model is as sure as it should be; below it, too sure."
                .to_owned(),
        x: Axis { label: "confidence of the predicted label".to_owned(), scale: Scale::Linear },
        y: Axis { label: "share of right labels".to_owned(), scale: Scale::Linear },
        traces: vec![
            Trace { name: "This model".to_owned(), drawing: Drawing::Line, spots },
            Trace { name: "Perfectly calibrated".to_owned(), drawing: Drawing::Reference, spots: diagonal },
        ],
    }))
}

/// True against predicted labels of the validation rows.
pub(super) fn confusion(model: &FittedModel) -> Result<Plot, Absent> {
    let report = model.report.to_json();
    let row = |row: &Value| row.as_array().into_iter().flatten().filter_map(Value::as_f64).collect::<Vec<f64>>();
    let cells: Vec<Vec<f64>> = report["confusion"].as_array().into_iter().flatten().map(row).collect();
    let names = model.head.labels().map(|labels| labels.labels.clone()).unwrap_or_default();
    if names.is_empty() || cells.len() != names.len() || cells.iter().any(|row| row.len() != names.len()) {
        return absent("it needs a classifier and held-out rows; train with a validation_fraction above 0");
    }
    Ok(Plot::Matrix(MatrixChart {
        title: PlotName::Confusion.title().to_owned(),
        description: "How many held-out rows of each true label were given each predicted label. Right answers are on \
                      the diagonal."
            .to_owned(),
        row_label: "true label".to_owned(),
        column_label: "predicted label".to_owned(),
        names,
        cells,
    }))
}

/// The leave-one-out error after each round of learning the metric.
pub(super) fn metric_by_round(model: &FittedModel) -> Result<Plot, Absent> {
    let Some(metric) = &model.metric else {
        return absent("no metric was learned; train with \"kernel\": {\"metric\": \"search\"}");
    };
    let found = metric.to_json(std::iter::empty());
    let mut traces: Vec<Trace> = Vec::new();
    // A round may try several metrics of one kind, so only the best of the rounds are a path.
    let mut best: Vec<Spot> = Vec::new();
    for round in found["rounds"].as_array().into_iter().flatten() {
        let name = round["metric"].as_str().unwrap_or_default();
        let Some((x, y)) = round["round"].as_f64().zip(round["loo_mse"].as_f64()) else { continue };
        match traces.iter_mut().find(|trace| trace.name == name) {
            Some(trace) => trace.spots.push(Spot::plain(x, y)),
            None => {
                traces.push(Trace { name: name.to_owned(), drawing: Drawing::Marks, spots: vec![Spot::plain(x, y)] });
            }
        }
        match best.iter_mut().find(|spot| spot.x == x) {
            Some(spot) => spot.y = spot.y.min(y),
            None => best.push(Spot::plain(x, y)),
        }
    }
    best.sort_by(|left, right| left.x.total_cmp(&right.x));
    traces.push(Trace { name: "Best of the round".to_owned(), drawing: Drawing::Curve, spots: best });
    Ok(Plot::Xy(XyChart {
        title: PlotName::MetricByRound.title().to_owned(),
        description:
            "How much each input should count (the metric) is learned in rounds. Shown is the leave-one-out error of each \
             form that was tried ('none' counts all inputs the same, 'diagonal' has a weight for each, 'full' for directions \
             too), and a line through the best of the rounds. Lower is better."
                .to_owned(),
        x: Axis { label: "round".to_owned(), scale: Scale::Linear },
        y: Axis { label: "leave-one-out mean squared error".to_owned(), scale: Scale::Linear },
        traces,
    }))
}

/// The error on held-out rows of trainings on fewer rows, and of the model.
pub(super) fn learning_curve(model: &FittedModel) -> Result<Plot, Absent> {
    let Some(found) = &model.learning_curve else {
        return absent("it takes trainings on fewer rows; train with \"learning_curve\": true");
    };
    let found = found.to_json(model);
    let labels = model.head.labels().is_some();
    let error = |point: &Value| if labels { Some(1.0 - point["accuracy"].as_f64()?) } else { point["mse"].as_f64() };
    let spot = |point: &Value| Some(Spot::plain(point["training_rows"].as_f64()?, error(point)?));
    let spots: Vec<Spot> = found["points"].as_array().into_iter().flatten().filter_map(spot).collect();
    let rows = model.report.validation_rows;
    Ok(Plot::Xy(XyChart {
        title: PlotName::LearningCurve.title().to_owned(),
        description: format!(
            "The error on the same {rows} held-out rows after training on one random share of the rows each, the last on \
             all of them. If it still falls at the end, more rows are likely to help."
        ),
        x: Axis { label: "training rows".to_owned(), scale: Scale::Logarithmic },
        y: Axis {
            label: match model.head.targets() {
                _ if labels => "share of wrong labels".to_owned(),
                [target] => format!("mean squared error ({target}²)"),
                _ => "mean squared error, over all targets".to_owned(),
            },
            scale: Scale::Linear,
        },
        traces: vec![Trace { name: "Held-out error".to_owned(), drawing: Drawing::Line, spots }],
    }))
}

const NOT_EXPLAINED: &str = "this version keeps no explanations; train it with \"explanations\": true";

/// How much the loss grows when a column is shuffled, the largest first.
pub(super) fn importance(model: &FittedModel) -> Result<Plot, Absent> {
    let Some(found) = model.explain() else { return absent(NOT_EXPLAINED) };
    let bar = |column: &Value| {
        let permutation = &column["permutation"];
        Some(Bar {
            name: column["column"].as_str()?.to_owned(),
            value: permutation["loss_increase"].as_f64()?,
            error: permutation["standard_error"].as_f64()?,
        })
    };
    let mut bars: Vec<Bar> = found["columns"].as_array().into_iter().flatten().filter_map(bar).collect();
    if bars.is_empty() {
        return absent(
            "columns are shuffled on held-out rows, and there are none; train with a validation_fraction above 0",
        );
    }
    bars.sort_by(|left, right| right.value.total_cmp(&left.value));
    let (loss, label) = match model.head.labels() {
        Some(_) => ("share of wrong labels", "increase of the share of wrong labels"),
        None => ("squared error (in units of the target's variance)", "increase of squared error ÷ target variance"),
    };
    Ok(Plot::Bars(BarChart {
        title: PlotName::Importance.title().to_owned(),
        description: format!(
            "How much the {loss} on held-out rows grows when the values of one column are shuffled, with its standard \
             error. The longer the bar, the more the model relies on the column."
        ),
        label: label.to_owned(),
        bars,
    }))
}

/// From the smallest to the largest value of a trace.
fn span(trace: &Trace) -> f64 {
    let values = || trace.spots.iter().map(|spot| spot.y);
    values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
}

/// The mean prediction by the values of one column; of the first column unless one is named.
pub(super) fn partial_dependence(model: &FittedModel, wanted: Option<&str>) -> Result<Plot, Absent> {
    let Some(found) = model.explain() else { return absent(NOT_EXPLAINED) };
    let columns: Vec<&Value> = found["columns"].as_array().into_iter().flatten().collect();
    let column = match wanted {
        None => columns.iter().find(|column| !column["partial_dependence"].is_null()),
        Some(name) => columns.iter().find(|column| column["column"] == name),
    };
    let Some(column) = column else {
        let Some(name) = wanted else { return absent("no column of this version has a partial dependence") };
        return Err(Absent::NoColumn(format!("the model has no column '{name}'")));
    };
    let (dependence, name) = (&column["partial_dependence"], column["column"].as_str().unwrap_or_default());
    if dependence.is_null() {
        return Err(Absent::NotMeasured(format!("the partial dependence of '{name}' was not computed")));
    }
    let points: Vec<&Value> = dependence["points"].as_array().into_iter().flatten().collect();
    let curves = dependence["outputs"].as_object().into_iter().flatten();
    let numbers =
        |values: &Value| values.as_array().into_iter().flatten().filter_map(Value::as_f64).collect::<Vec<f64>>();
    let title = format!("Effect of {name} (partial dependence)");
    let (shown, sign) = match model.head.labels() {
        None => ("mean prediction", String::new()),
        Some(labels) => match labels.labels.as_slice() {
            [below, above] => ("mean decision value", format!(" Above 0 the label is {above}, below 0 {below}.")),
            _ => ("mean decision value", " The label with the largest decision value is predicted.".to_owned()),
        },
    };
    let description = format!("The {shown} over training rows if {name} had the same value in all of them.{sign}");
    if points.iter().all(|point| point.is_number()) {
        let trace = |(output, values): (&String, &Value)| {
            let spots = points.iter().filter_map(|point| point.as_f64()).zip(numbers(values));
            let spots = spots.map(|(x, y)| Spot::plain(x, y)).collect();
            Trace { name: output.clone(), drawing: Drawing::Line, spots }
        };
        let axis = |label: &str| Axis { label: label.to_owned(), scale: Scale::Linear };
        let mut traces: Vec<Trace> = curves.map(trace).collect();
        let description = match traces.len() {
            all if all > XyChart::MOST_DRAWN => {
                // Those that the column moves most come first; the picture has no room for the others.
                traces.sort_by(|left, right| span(right).total_cmp(&span(left)));
                format!("{description} Drawn are the {} of {all} labels that it moves most.", XyChart::MOST_DRAWN)
            }
            _ => description,
        };
        let (x, y) = (axis(name), axis(shown));
        return Ok(Plot::Xy(XyChart { title, description, x, y, traces }));
    }
    let several = dependence["outputs"].as_object().is_some_and(|outputs| outputs.len() > 1);
    let mut bars = Vec::new();
    for (output, values) in curves {
        for (point, value) in points.iter().zip(numbers(values)) {
            let point = point.as_str().map_or_else(|| point.to_string(), str::to_owned);
            let name = if several { format!("{point}: {output}") } else { point };
            bars.push(Bar { name, value, error: 0.0 });
        }
    }
    Ok(Plot::Bars(BarChart { title, description, label: shown.to_owned(), bars }))
}
