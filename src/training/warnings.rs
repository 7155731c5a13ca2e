//! What a user should know about a fit, each with what to do about it.

use super::TrainSpec;
use super::fit::{Fit, Learned};
use crate::dataset::{ColumnMoments, Scaling};
use crate::features::Precision;

/// Scaled inputs beyond this many standard deviations are outliers.
const LARGE: f64 = 10.0;

/// Bandwidths from zero at which single precision has two digits left for the difference of neighbours.
const FAR: f64 = 1e5;

/// Of one fit, before its comparison with the exact method.
pub(super) fn warnings(
    scaling: &Scaling,
    moments: &[ColumnMoments],
    spec: &TrainSpec,
    bandwidth: Option<f64>,
    fit: &Fit,
) -> Vec<String> {
    let mut warnings = of_inputs(scaling, moments, bandwidth, fit.precision);
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
            if !classifier.lambda_path.is_empty() {
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
    if fit.best_is_smallest {
        warnings.push(match fit.learned {
            Learned::Exact(_) => {
                "The best lambda is at the edge of the grid: set a smaller lambda and compare the validation errors."
                    .to_owned()
            }
            Learned::Ridge(_) | Learned::Classifier(_) => {
                "The best lambda is at the edge of the grid: try more features.".to_owned()
            }
        });
    }
    warnings
}

fn of_inputs(
    scaling: &Scaling,
    moments: &[ColumnMoments],
    bandwidth: Option<f64>,
    precision: Precision,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let largest = scaling.largest_scaled(moments);
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
    if scaling.constant_count() > 0 {
        let count = scaling.constant_count();
        warnings.push(format!("{count} inputs are constant over the training rows and have no effect: remove them."));
    }
    warnings
}
