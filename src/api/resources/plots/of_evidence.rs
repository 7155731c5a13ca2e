//! Plots of bounds, spectra and interval widths.

use super::plot_name::{Absent, PlotName, absent};
use crate::model::{FittedModel, SolverReport};
use crate::plots::{Axis, Drawing, Plot, Scale, Spot, Trace, XyChart};
use crate::theory::ours::certificate::COVERED_SHARE;
use crate::theory::ours::conformal::conformal_quantile;
use crate::theory::plan::counts_for_error;
use crate::theory::{self, Form, Guarantee, RowAccess, SpectralProfile, Status, spectral_profile};
use crate::training::PlanRequest;
use serde_json::json;

/// Shares of the targets' variance at which the planner is asked for the features that a theorem needs.
const TARGETS: [f64; 9] = [1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4];

const ONLY_RIDGE: &str = "the distance to the exact method is known for ridge regression on random features only";

/// Proved, estimated and measured distance to the exact method, by the number of features.
pub(super) fn error_by_features(model: &FittedModel, rows: RowAccess) -> Result<Plot, Absent> {
    let Some(evidence) = model.evidence.as_ref().filter(|_| !model.is_exact()) else {
        return absent(ONLY_RIDGE);
    };
    let features = model.report.feature_count as f64;
    let found = theory::guarantees(evidence, model.failure_probability, COVERED_SHARE, &model.circumstances(rows));
    let measurements = model.measurements();
    let mut traces = planned(model);
    let before = if traces.is_empty() {
        "No theorem bounds it before training at this λ and with so few rows; the marks are what"
    } else {
        "Lines are what theorems prove for a number of features before training, the other marks what"
    };
    let of_this_model = |guarantee: &&Guarantee| {
        guarantee.id == "bochner.certificate_mean"
            && guarantee.form == Form::Bound
            && guarantee.status != Status::NotApplicable
    };
    if let Some(bound) = found.guarantees.iter().find(of_this_model).and_then(|guarantee| guarantee.value) {
        traces.push(marks("Proved for this model", Spot::plain(features, bound)));
    }
    if let Some(estimate) = measurements["jackknife_error"].as_f64() {
        let interval = &measurements["jackknife_interval"];
        let interval = interval[0].as_f64().zip(interval[1].as_f64());
        traces.push(marks("Estimated (jackknife)", Spot { x: features, y: estimate, interval }));
    }
    if let Some(measured) = measurements["exact_krr_error"].as_f64() {
        traces.push(marks("Measured", Spot::plain(features, measured)));
    }
    if traces.is_empty() {
        let nothing = "neither a bound nor an estimate applies to this version";
        return match (&model.report.solver, rows.obstacle()) {
            (SolverReport::Classifier(_), _) => absent(ONLY_RIDGE),
            (SolverReport::Ridge(_) | SolverReport::Exact(_), Some(obstacle)) => {
                absent(&format!("{nothing}; measuring it {obstacle}"))
            }
            (SolverReport::Ridge(_) | SolverReport::Exact(_), None) => {
                absent(&format!("{nothing}; a job of type certify may measure it"))
            }
        };
    }
    Ok(Plot::Xy(XyChart {
        title: PlotName::ErrorByFeatures.title().to_owned(),
        description: format!(
            "Random features make training quick and change predictions a little: this is the mean squared difference \
             from the exact kernel method, which uses none. Lower is closer. {before} is proved, estimated or measured \
             for this model of {features} features."
        ),
        x: Axis { label: "random features".to_owned(), scale: Scale::Logarithmic },
        y: Axis { label: distance_label(model), scale: Scale::Logarithmic },
        traces,
    }))
}

/// The distance with its unit.
fn distance_label(model: &FittedModel) -> String {
    match (model.head.labels(), model.head.targets()) {
        (Some(_), _) => "mean squared distance (labels as ±1)".to_owned(),
        (None, [target]) => format!("mean squared distance ({target}²)"),
        (None, _) => "mean squared distance (all targets)".to_owned(),
    }
}

fn marks(name: &str, spot: Spot) -> Trace {
    Trace { name: name.to_owned(), drawing: Drawing::Marks, spots: vec![spot] }
}

/// For each theorem of the planner, the features that it needs for a distance.
fn planned(model: &FittedModel) -> Vec<Trace> {
    let Some(variance) = model.evidence.as_ref().and_then(|evidence| evidence.target_mean_square) else {
        return Vec::new();
    };
    let mut traces: Vec<Trace> = Vec::new();
    for share in TARGETS {
        let request = json!({
            "n": model.report.training_rows,
            "d": model.report.input_dim,
            "y_mean_square": variance,
            "kernel": {"name": model.map.kernel.shape().name()},
            "lambda": model.report.lambda,
            "delta": model.failure_probability,
            "target": {"error": share * variance},
        });
        let Ok(request) = PlanRequest::check(&request, None) else { return traces };
        for (id, count) in counts_for_error(&request.problem, share * variance) {
            let Some(count) = count else { continue };
            let name = format!("Proved before training ({id})");
            let spot = Spot::plain(count as f64, share * variance);
            match traces.iter_mut().find(|trace| trace.name == name) {
                Some(trace) => trace.spots.push(spot),
                None => traces.push(Trace { name, drawing: Drawing::Line, spots: vec![spot] }),
            }
        }
    }
    traces
}

/// As the route of the spectrum has it: a job is offered only if the rows that it needs are there.
fn profile(model: &FittedModel, rows: RowAccess) -> Option<SpectralProfile> {
    model.evidence.as_ref().map(|evidence| spectral_profile(evidence).with_rows(rows))
}

/// Why a part of the spectrum is not there.
fn without(profile: Option<&SpectralProfile>, what: &str) -> Absent {
    let missing = profile.and_then(|found| found.missing.iter().find(|missing| missing.what == what));
    Absent::NotMeasured(match missing {
        None => "eigenvalues are computed for ridge regression on random features only".to_owned(),
        Some(missing) => match missing.job {
            None => missing.reason.to_owned(),
            Some(job) => format!("{}; a job of type {job} computes them", missing.reason),
        },
    })
}

const SPECTRUM: &str = "The features of the rows vary in many independent directions. Each point is the weight of one \
                        (its eigenvalue), the largest first. The model learns from those above the dashed line λ and \
                        smooths away those far below it.";

/// The eigenvalues by rank, and λ.
pub(super) fn spectrum(model: &FittedModel, rows: RowAccess) -> Result<Plot, Absent> {
    let profile = profile(model, rows);
    let Some((eigenvalues, profile)) = profile.as_ref().and_then(|found| Some((found.eigenvalues.as_ref()?, found)))
    else {
        return Err(without(profile.as_ref(), "eigenvalues"));
    };
    let spots: Vec<Spot> =
        eigenvalues.values.iter().map(|ranked| Spot::plain(ranked.rank as f64, ranked.value)).collect();
    let last = spots.last().map_or(1.0, |spot| spot.x);
    let mut traces = vec![
        Trace { name: "Eigenvalues".to_owned(), drawing: Drawing::Line, spots },
        Trace {
            name: "λ".to_owned(),
            drawing: Drawing::Reference,
            spots: vec![Spot::plain(1.0, profile.lambda), Spot::plain(last, profile.lambda)],
        },
    ];
    let dimension = profile.effective_dimension.as_ref().map(|curve| curve.at_lambda);
    if let Some(dimension) = dimension {
        traces.push(marks("Effective dimension", Spot::plain(dimension, profile.lambda)));
    }
    Ok(Plot::Xy(XyChart {
        title: PlotName::Spectrum.title().to_owned(),
        description: match dimension {
            Some(dimension) => format!(
                "{SPECTRUM} About {dimension:.1} directions count: that is the effective dimension of the model."
            ),
            None => SPECTRUM.to_owned(),
        },
        x: Axis { label: "direction, by rank".to_owned(), scale: Scale::Logarithmic },
        y: Axis { label: "weight (eigenvalue)".to_owned(), scale: Scale::Logarithmic },
        traces,
    }))
}

/// The largest leverage by λ.
pub(super) fn leverage(model: &FittedModel, rows: RowAccess) -> Result<Plot, Absent> {
    let profile = profile(model, rows);
    let Some((curve, profile)) = profile.as_ref().and_then(|found| Some((found.leverage.as_ref()?, found))) else {
        return Err(without(profile.as_ref(), "leverage"));
    };
    let spots = curve.points.iter().map(|point| Spot::plain(point.lambda, point.largest)).collect();
    let mut traces = vec![Trace { name: "Largest leverage".to_owned(), drawing: Drawing::Line, spots }];
    if let Some(dimension) = &profile.effective_dimension {
        let spots = dimension.grid.iter().map(|point| Spot::plain(point.lambda, point.dimension)).collect();
        traces.push(Trace { name: "Effective dimension".to_owned(), drawing: Drawing::Reference, spots });
    }
    Ok(Plot::Xy(XyChart {
        title: PlotName::Leverage.title().to_owned(),
        description: "How much the fit depends on the one random feature that it needs most, by the strength of \
                      smoothing λ: its leverage times the number of draws. If all were needed alike, the curve would be \
                      on the dashed line, the effective dimension. The closer it is, the fewer features are enough."
            .to_owned(),
        x: Axis { label: "strength of smoothing λ".to_owned(), scale: Scale::Logarithmic },
        y: Axis { label: "largest leverage × draws".to_owned(), scale: Scale::Logarithmic },
        traces,
    }))
}

/// How wide intervals must be to contain new targets with each probability.
pub(super) fn interval_width(model: &FittedModel) -> Result<Plot, Absent> {
    let Some(scores) = model.calibration_scores().filter(|_| model.head.labels().is_none()) else {
        return absent(
            "intervals need a model of numbers with held-out rows; train with a validation_fraction above 0",
        );
    };
    let scaled = model.scales_intervals();
    let unit = if scaled { 1.0 } else { model.interval_scales.first().copied().unwrap_or(1.0) };
    let label = match model.head.targets() {
        [target, ..] if !scaled => format!("interval width, in units of {target}"),
        _ => "interval width, in units of the spread".to_owned(),
    };
    let spot = |percent: u32| {
        let delta = 1.0 - f64::from(percent) / 100.0;
        let rounded = (delta * 100.0).round() / 100.0;
        Spot::plain(1.0 - rounded, 2.0 * unit * conformal_quantile(scores, rounded))
    };
    let spots: Vec<Spot> = (50..=99).map(spot).filter(|spot| spot.y.is_finite()).collect();
    Ok(Plot::Xy(XyChart {
        title: PlotName::IntervalWidth.title().to_owned(),
        description:
            "How wide the interval around a prediction has to be to contain the true value of a new row with at least \
             the probability on the horizontal axis, if new rows are like the old ones."
                .to_owned(),
        x: Axis { label: "probability of containing the target, at least".to_owned(), scale: Scale::Linear },
        y: Axis { label, scale: Scale::Linear },
        traces: vec![Trace { name: "Proved width".to_owned(), drawing: Drawing::Curve, spots }],
    }))
}
