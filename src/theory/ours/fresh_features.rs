//! The distance to the exact method, estimated from the influence of unused features.
//!
//! With r = (y − Ψw)/(nλ), a fresh draw v has a(v) = ψᵥᵀr and
//! h(x,v) = ψ(x)ᵀ(ΨᵀΨ + nλI)⁻¹Ψᵀψᵥ; its influence is g(x,v) = a(v)(ψ(x;v) − h(x,v)), and the estimate
//! of E(f_s − f)² is the mean over x of Var over v of g, divided by the draws. It is within 20% of the error
//! if there are at least 25 features per effective dimension, and 1.5 to 4 times too large with fewer.

use super::jackknife::measured_error;
use crate::theory::papers::wang::distance::ERROR;
use crate::theory::statement::guarantee::Source;
use crate::theory::{Assumption, Evidence, Form, Guarantee, Lack};

const FRESH: Source =
    Source { id: "bochner.fresh_features", paper: "influence of unused features", bounds: ERROR, form: Form::Estimate };

/// The features per effective dimension that make the estimate reliable.
const FEATURES_PER_DIMENSION: f64 = 25.0;

/// Var over draws of g(x, v), divided by the number of draws of the model.
pub fn influence_variance(influences: &[f64], draw_count: usize) -> f64 {
    let count = influences.len() as f64;
    let mean = influences.iter().sum::<f64>() / count;
    let square: f64 = influences.iter().map(|g| (g - mean) * (g - mean)).sum();
    square / (count - 1.0) / draw_count as f64
}

/// `bochner.fresh_features`: an error estimate from unused features.
pub fn fresh_features(evidence: &Evidence) -> Guarantee {
    let error = evidence.estimates.fresh_features.ok_or(Lack::FreshFeatures);
    let own = enough_features(evidence).into_iter().collect();
    measured_error(FRESH, evidence, (error, None), "the influence of unused features", own)
}

/// The dimension may come from the features and be too small, so it can refute the assumption but not confirm it.
fn enough_features(evidence: &Evidence) -> Option<Assumption> {
    let (dimension, _) = evidence.effective_dimension()?;
    let (have, need) = (evidence.feature_count as f64, FEATURES_PER_DIMENSION * dimension);
    let text = "25 features per effective dimension, because the estimate is too large with fewer";
    let found = Assumption::at_least_by_estimate(text, have, need);
    Some(found.with_remedy("Use more features or a larger lambda."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{ErrorEstimates, Status};

    /// (4 + 0 + 4)/2 over 8 draws.
    #[test]
    fn the_variance_by_hand() {
        assert_eq!(influence_variance(&[1.0, 3.0, 5.0], 8), 0.5);
    }

    #[test]
    fn it_says_how_many_features_it_requires() {
        let estimates = ErrorEstimates { fresh_features: Some(0.02), ..ErrorEstimates::default() };
        let evidence = Evidence { estimates, spectrum: Some(vec![0.7, 0.7]), ..ridge_fit() };
        let found = fresh_features(&evidence);
        let last = found.assumptions.last().unwrap();
        assert_eq!((last.have, last.need, found.status), (Some(200.0), Some(25.0), Status::Conditional));
        assert_eq!(fresh_features(&ridge_fit()).value, None);
        let few = fresh_features(&Evidence { feature_count: 24, draw_count: 24, ..evidence.clone() });
        assert_eq!((few.value, few.status), (Some(0.02), Status::NotApplicable));
        assert!(few.statement.contains("with fewer: at least 25; here 24. Use more features"), "{}", few.statement);
        // Measuring it would not help either.
        let estimates = ErrorEstimates::default();
        let unmeasured = fresh_features(&Evidence { feature_count: 24, draw_count: 24, estimates, ..evidence });
        assert_eq!(unmeasured.lacks, None);
    }
}
