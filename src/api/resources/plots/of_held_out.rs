//! Plots of held-out rows: a sample of them is kept with the model.

use super::plot_name::{Absent, PlotName, absent};
use crate::model::{FittedModel, HeldOutRow, LabelRanking};
use crate::plots::{Axis, Drawing, Plot, Scale, Spot, Trace, XyChart};

const NOT_KEPT: &str = "this version keeps no held-out rows; train it again with a validation_fraction above 0";

/// Promised shares, in percent.
const LEVELS: [u32; 12] = [50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 98, 99];

/// Labels that are drawn: those with most held-out rows.
const MOST_LABELS: usize = 4;

/// The z of a 95% interval.
const Z: f64 = 1.959_964;

fn linear(label: &str) -> Axis {
    Axis { label: label.to_owned(), scale: Scale::Linear }
}

fn reference(name: &str, ends: [(f64, f64); 2]) -> Trace {
    let spots = ends.map(|(x, y)| Spot::plain(x, y)).to_vec();
    Trace { name: name.to_owned(), drawing: Drawing::Reference, spots }
}

/// "The 60 held-out rows", or how many of them are shown.
fn rows_in_words(model: &FittedModel, shown: usize) -> String {
    let all = model.held_out.as_ref().map_or(0, |sample| sample.available);
    if shown == all { format!("the {all} held-out rows") } else { format!("{shown} of the {all} held-out rows") }
}

fn rows_counted(count: usize) -> String {
    if count == 1 { "1 held-out row".to_owned() } else { format!("{count} held-out rows") }
}

/// The held-out rows of one target, by its name or the first.
fn rows<'a>(model: &'a FittedModel, wanted: Option<&str>) -> Result<(&'a str, Vec<HeldOutRow>), Absent> {
    if model.head.labels().is_some() {
        return absent("the model predicts labels; see confusion, roc and precision-recall");
    }
    let targets = model.head.targets();
    let index = match wanted {
        None => 0,
        Some(name) => targets.iter().position(|target| target == name).ok_or_else(|| {
            Absent::NoTarget(format!("the model has no target '{name}' (targets: {})", targets.join(", ")))
        })?,
    };
    let rows = model.held_out_rows(index);
    match targets.get(index).filter(|_| !rows.is_empty()) {
        Some(target) => Ok((target, rows)),
        None => absent(NOT_KEPT),
    }
}

/// Each held-out row by its true value and the prediction, with the interval.
pub(super) fn predicted_against_actual(model: &FittedModel, target: Option<&str>) -> Result<Plot, Absent> {
    let (target, rows) = rows(model, target)?;
    let spots: Vec<Spot> =
        rows.iter().map(|row| Spot { x: row.actual, y: row.predicted, interval: row.interval }).collect();
    let low = rows.iter().map(|row| row.actual.min(row.predicted)).fold(f64::INFINITY, f64::min);
    let high = rows.iter().map(|row| row.actual.max(row.predicted)).fold(f64::NEG_INFINITY, f64::max);
    let probability = number(100.0 * (1.0 - model.failure_probability));
    let intervals = if rows.iter().any(|row| row.interval.is_some()) {
        format!(" Bars are their prediction intervals of {probability}%.")
    } else {
        String::new()
    };
    let description = format!(
        "The prediction of {} against what the table says; on the dashed line both are equal.{intervals}",
        rows_in_words(model, rows.len())
    );
    Ok(Plot::Xy(XyChart {
        title: PlotName::PredictedActual.title().to_owned(),
        description,
        x: linear(&format!("actual {target}")),
        y: linear(&format!("predicted {target}")),
        traces: vec![
            Trace { name: "Held-out rows".to_owned(), drawing: Drawing::Marks, spots },
            reference("Prediction equals truth", [(low, low), (high, high)]),
        ],
    }))
}

/// What is left of each held-out row after the prediction.
pub(super) fn residuals(model: &FittedModel, target: Option<&str>) -> Result<Plot, Absent> {
    let (target, rows) = rows(model, target)?;
    let spots: Vec<Spot> = rows.iter().map(|row| Spot::plain(row.predicted, row.actual - row.predicted)).collect();
    let low = spots.iter().map(|spot| spot.x).fold(f64::INFINITY, f64::min);
    let high = spots.iter().map(|spot| spot.x).fold(f64::NEG_INFINITY, f64::max);
    Ok(Plot::Xy(XyChart {
        title: PlotName::Residuals.title().to_owned(),
        description: format!(
            "Actual minus predicted value of {} by the prediction. A bend or a funnel is something that the model has not \
             learned; points without a pattern around the dashed line are as they should be.",
            rows_in_words(model, rows.len())
        ),
        x: linear(&format!("predicted {target}")),
        y: linear(&format!("actual − predicted {target}")),
        traces: vec![
            Trace { name: "Held-out rows".to_owned(), drawing: Drawing::Marks, spots },
            reference("No error", [(low, 0.0), (high, 0.0)]),
        ],
    }))
}

fn rankings(model: &FittedModel) -> Result<Vec<LabelRanking>, Absent> {
    if model.head.labels().is_none() {
        return absent("the model predicts numbers; see predicted-actual and residuals");
    }
    let found = model.label_rankings(MOST_LABELS);
    if model.held_out.is_none() {
        return absent(NOT_KEPT);
    }
    if found.is_empty() {
        return absent("all held-out rows have the same label; hold out more rows");
    }
    Ok(found)
}

/// "label", or which labels are shown.
fn labels_in_words(model: &FittedModel, shown: usize) -> String {
    match model.head.labels().map_or(0, |labels| labels.labels.len()) {
        0..=2 => "the label".to_owned(),
        all if shown < all => format!("each of the {shown} labels with most rows"),
        _ => "each label".to_owned(),
    }
}

/// How many rows of a label are found, by how many others are mistaken for it.
pub(super) fn roc(model: &FittedModel) -> Result<Plot, Absent> {
    let found = rankings(model)?;
    let held_out = rows_in_words(model, model.held_out.as_ref().map_or(0, |sample| sample.count(&model.head)));
    let curve = |ranking: &LabelRanking| Trace {
        name: format!("{} ({})", ranking.label, number(ranking.roc_area)),
        drawing: Drawing::Curve,
        spots: ranking.roc.iter().map(|(x, y)| Spot::plain(*x, *y)).collect(),
    };
    let description = format!(
        "For each threshold, the share of the rows of {} that is found (upwards) and the share of the other rows that is \
         mistaken for it (to the right), on {held_out}. The closer a curve comes to the upper left corner, the better. The \
         area under the curve is in parentheses; the dashed line is a random guess.",
        labels_in_words(model, found.len())
    );
    Ok(Plot::Xy(XyChart {
        title: PlotName::Roc.title().to_owned(),
        description,
        x: linear("false alarms (false positive rate)"),
        y: linear("rows found (true positive rate)"),
        traces: found.iter().map(curve).chain([reference("Random guess", [(0.0, 0.0), (1.0, 1.0)])]).collect(),
    }))
}

/// How many of the rows that are given a label have it, by how many of its rows are found.
pub(super) fn precision_recall(model: &FittedModel) -> Result<Plot, Absent> {
    let found = rankings(model)?;
    let held_out = rows_in_words(model, model.held_out.as_ref().map_or(0, |sample| sample.count(&model.head)));
    let curve = |ranking: &LabelRanking| Trace {
        name: format!("{} ({})", ranking.label, number(ranking.average_precision)),
        drawing: Drawing::Curve,
        spots: ranking.precision_recall.iter().map(|(x, y)| Spot::plain(*x, *y)).collect(),
    };
    let mut traces: Vec<Trace> = found.iter().map(curve).collect();
    let guess = match found.as_slice() {
        [ranking] => {
            traces.push(reference("Random guess", [(0.0, ranking.share), (1.0, ranking.share)]));
            " The dashed line is a random guess."
        }
        _ => "",
    };
    let description = format!(
        "For each threshold, the share of right answers among the rows that are given {} (upwards) and the share of its \
         rows that is found (to the right), on {held_out}. The closer a curve comes to the upper right corner, the better. The \
         average precision is in parentheses.{guess}",
        labels_in_words(model, found.len())
    );
    Ok(Plot::Xy(XyChart {
        title: PlotName::PrecisionRecall.title().to_owned(),
        description,
        x: linear("rows found (recall)"),
        y: linear("right answers (precision)"),
        traces,
    }))
}

/// How often intervals contain the target, by how often they promise to.
pub(super) fn coverage(model: &FittedModel) -> Result<Plot, Absent> {
    if model.held_out.is_none() {
        return absent(NOT_KEPT);
    }
    let Some(found) = model.measured_coverage(&LEVELS) else {
        return absent("there are no intervals: rows are weighted, or too few were held out to calibrate any");
    };
    let rows = found.rows as f64;
    let spot = |(promised, measured): &(f64, f64)| Spot {
        x: *promised,
        y: *measured,
        interval: Some(wilson(*measured, rows)),
    };
    let (thing, title) = match model.head.labels() {
        Some(_) => ("label set", "Coverage: how often label sets hold"),
        None => ("interval", PlotName::Coverage.title()),
    };
    let how = if found.halved {
        format!(
            " Every second held-out row calibrates the {thing}s of this picture, and they are tested on the others; \
         predictions use all of them."
        )
    } else {
        format!(" Other rows calibrate the {thing}s.")
    };
    let ends = found.levels.first().zip(found.levels.last()).map_or([0.5, 1.0], |(first, last)| [first.0, last.0]);
    Ok(Plot::Xy(XyChart {
        title: title.to_owned(),
        description: format!(
            "The share of {} whose {thing} contains the target, by the promised probability 1 − δ; bars are \
             approximate 95% intervals for so many rows.{how}",
            rows_counted(found.rows)
        ),
        x: linear("promised probability 1 − δ"),
        y: linear("measured share of rows"),
        traces: vec![
            Trace {
                name: "Measured".to_owned(),
                drawing: Drawing::Line,
                spots: found.levels.iter().map(spot).collect(),
            },
            reference("As promised", ends.map(|end| (end, end))),
        ],
    }))
}

/// The score interval of a share among n rows. [Wilson 1927]
fn wilson(share: f64, n: f64) -> (f64, f64) {
    let square = Z * Z;
    let centre = (share + square / (2.0 * n)) / (1.0 + square / n);
    let half = Z / (1.0 + square / n) * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

/// With three digits behind the point at most.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        // 9 of 10: (0.5958, 0.9821), as in any table.
        let (low, high) = wilson(0.9, 10.0);
        assert!((low - 0.5958).abs() < 1e-4 && (high - 0.9821).abs() < 1e-4, "{low} to {high}");
        assert_eq!((wilson(1.0, 20.0).1, wilson(0.0, 20.0).0), (1.0, 0.0));
        assert_eq!([number(0.95), number(1.0), number(95.0)], ["0.95", "1", "95"]);
    }
}
