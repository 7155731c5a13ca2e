//! What a user should know about a fit, each with what to do about it.

use super::TrainSpec;
use super::fit::{Fit, Learned};
use crate::dataset::{ColumnKind, ColumnMoments, Encoding, Finding, Scaling, Schema, Severity};
use crate::features::Precision;

/// Scaled inputs beyond this many standard deviations are outliers.
const LARGE: f64 = 10.0;

/// Bandwidths from zero at which single precision has two digits left for the difference of neighbours.
const FAR: f64 = 1e5;

/// Fitted rows below which a fit says little about new rows, whatever its errors are.
const FEW_ROWS: usize = 30;

/// Of one fit, before its comparison with the exact method.
pub(super) fn warnings(
    schema: &Schema,
    inputs: (&Scaling, &[ColumnMoments], &Encoding),
    spec: &TrainSpec,
    bandwidth: Option<f64>,
    (fit, fitted_rows, calibrated): (&Fit, usize, bool),
) -> Vec<String> {
    let chosen_on = if spec.design_fraction > 0.0 { "design" } else { "training" };
    let mut warnings = of_table(schema);
    warnings.extend(of_few_rows(schema, fitted_rows));
    warnings.extend(of_inputs(inputs, bandwidth, fit.precision, chosen_on));
    match &fit.learned {
        Learned::Ridge(ridge) if spec.spread && ridge.spread.is_none() => {
            warnings.push(
                "The model has no spread, because lambda is too small to factor its Gram matrix: use a larger lambda."
                    .to_owned(),
            );
        }
        Learned::Classifier(classifier) => {
            if !classifier.evidence.converged {
                warnings.push(
                    "The solver stopped before it reached its tolerance (see certificate and passes): use a larger lambda."
                        .to_owned(),
                );
            }
            if !classifier.lambda_path.is_empty() && spec.design_fraction == 0.0 {
                warnings.push(
                    "Lambda was chosen on the validation rows, so their errors are slightly too small: measure the \
                     final error on other rows."
                        .to_owned(),
                );
            }
        }
        Learned::Exact(exact) => {
            let solved = &exact.report.evidence;
            if !solved.converged {
                warnings.push(format!(
                    "The exact kernel system was solved to a relative residual of {:.1e} only (see solver_slack): use a \
                     larger lambda.",
                    solved.relative_residual
                ));
            }
            warnings.extend(exact.unmeasured.clone());
        }
        Learned::Ridge(_) => {}
    }
    if let (Some(column), true) = (spec.split.column(), calibrated) {
        warnings.push(format!(
            "The rows were split by {} ('{column}'), so intervals and label sets have no guaranteed coverage: compare them \
             with new rows before relying on them.",
            spec.split.name()
        ));
    }
    if fit.best_is_smallest {
        warnings.push(match fit.learned {
            Learned::Exact(_) => {
                "The best lambda is at the edge of the grid: set a smaller lambda and compare the validation errors."
                    .to_owned()
            }
            Learned::Ridge(_) | Learned::Classifier(_) => {
                "The best lambda is at the edge of the grid: try a larger features.count.".to_owned()
            }
        });
    }
    warnings
}

/// What the quality report of the dataset warns of.
fn of_table(schema: &Schema) -> Vec<String> {
    let words = |finding: &Finding| {
        let place = finding.column.as_ref().map_or(String::new(), |column| format!("Column '{column}': "));
        format!("{place}{}. {}", finding.detail, finding.action)
    };
    schema.findings.iter().filter(|finding| finding.severity == Severity::Warning).map(words).collect()
}

/// That very few rows were fitted, with the column whose empty cells are the reason, if they are.
fn of_few_rows(schema: &Schema, fitted_rows: usize) -> Option<String> {
    if fitted_rows >= FEW_ROWS {
        return None;
    }
    let target = schema.target_columns().max_by_key(|column| column.missing).filter(|column| column.missing > 0);
    Some(match target {
        Some(target) => format!(
            "Column '{}': {} of {} rows have no target, and the model was fitted on {fitted_rows} rows only: fill in more \
             targets before you rely on its predictions.",
            target.name, target.missing, schema.row_count
        ),
        None => {
            format!("The model was fitted on {fitted_rows} rows only: upload more before you rely on its predictions.")
        }
    })
}

fn of_inputs(
    (scaling, moments, encoding): (&Scaling, &[ColumnMoments], &Encoding),
    bandwidth: Option<f64>,
    precision: Precision,
    chosen_on: &str,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let constant = constant_columns(scaling, encoding);
    // An indicator of a rare level is far from its mean when it is one; that is no outlier.
    let (scaling, moments) = without_indicators(scaling, moments, encoding);
    let largest = scaling.largest_scaled(&moments);
    if largest > LARGE {
        warnings.push(format!(
            "The largest scaled input is {largest:.1}, an outlier or a long tail: remove the outlier or take the logarithm \
             of its column."
        ));
    }
    if precision == Precision::Mixed && bandwidth.is_some_and(|bandwidth| largest > FAR * bandwidth) {
        warnings.push(
            "Inputs lie so many bandwidths from zero that single precision cannot separate neighbours: use scaling \
             standard or a larger bandwidth."
                .to_owned(),
        );
    }
    match constant.as_slice() {
        [] => {}
        [name] => warnings.push(format!(
            "Column '{name}' has an input that is constant over the {chosen_on} rows and has no effect: remove the column, or \
             upload rows in which it varies."
        )),
        [first, others @ ..] => warnings.push(format!(
            "{} columns, '{first}' among them, have inputs that are constant over the {chosen_on} rows and have no effect: \
             remove the columns, or upload rows in which they vary.",
            others.len() + 1
        )),
    }
    warnings
}

/// Columns with an input that never varies, other than indicators of levels.
fn constant_columns<'a>(scaling: &Scaling, encoding: &'a Encoding) -> Vec<&'a str> {
    let columns = encoding.columns.iter().zip(encoding.input_ranges());
    let numeric = columns.filter(|(column, _)| column.kind != ColumnKind::Categorical);
    let constant = numeric.filter(|(_, inputs)| inputs.clone().any(|input| scaling.factor[input] == 0.0));
    constant.map(|(column, _)| column.name.as_str()).collect()
}

/// Scaling and moments of the inputs that are not indicators of levels.
fn without_indicators(
    scaling: &Scaling,
    moments: &[ColumnMoments],
    encoding: &Encoding,
) -> (Scaling, Vec<ColumnMoments>) {
    let ranges = encoding.input_ranges();
    let columns = encoding.columns.iter().zip(ranges).filter(|(column, _)| column.kind != ColumnKind::Categorical);
    let kept: Vec<usize> = columns.flat_map(|(_, range)| range).collect();
    let pick = |numbers: &[f64]| kept.iter().map(|&input| numbers[input]).collect();
    let scaling = Scaling { fill: pick(&scaling.fill), offset: pick(&scaling.offset), factor: pick(&scaling.factor) };
    (scaling, kept.iter().map(|&input| moments[input]).collect())
}
