//! What one more feature would change, from features that were not used: ours.
//!
//! With r = (y − Ψw)/(nλ), a fresh draw v has a(v) = ψᵥᵀr and
//! h(x,v) = ψ(x)ᵀ(ΨᵀΨ + nλI)⁻¹Ψᵀψᵥ; its influence is g(x,v) = a(v)(ψ(x;v) − h(x,v)), and the estimate
//! of E(f_s − f)² is the mean over x of Var over v of g, divided by the draws. Right within 20 % once
//! there are 25 times as many features as effective dimensions, 1.5–4 times too large below.

use super::guarantee::Source;
use super::jackknife::measured_error;
use super::wang::theorem1::ERROR;
use super::{Assumption, Evidence, Form, Guarantee, Lack, Status};

const FRESH: Source = Source {
    id: "bochner.fresh_features",
    paper: "influence of features that were not used",
    bounds: ERROR,
    form: Form::Estimate,
};

/// Features per effective dimension from which on the estimate is right.
const ENOUGH_FEATURES: f64 = 25.0;

/// Var over draws of g(x, v), divided by the number of draws of the model.
pub fn influence_variance(influences: &[f64], draw_count: usize) -> f64 {
    let count = influences.len() as f64;
    let mean = influences.iter().sum::<f64>() / count;
    let square: f64 = influences.iter().map(|g| (g - mean) * (g - mean)).sum();
    square / (count - 1.0) / draw_count as f64
}

/// `bochner.fresh_features`.
pub fn fresh_features(evidence: &Evidence) -> Guarantee {
    let error = evidence.estimates.fresh_features.ok_or(Lack::FreshFeatures);
    let mut found = measured_error(FRESH, evidence, error, "the influence of features that were not used");
    if let (Some((dimension, _)), Some(_)) = (evidence.effective_dimension(), found.value) {
        found.assumptions.push(Assumption::of_order(
            "s is 25 times the effective dimension, below which it is too large",
            evidence.feature_count as f64,
            ENOUGH_FEATURES * dimension,
        ));
        found.status = Status::of(&found.assumptions, true);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::evidence::tests::ridge_fit;
    use super::*;
    use crate::theory::ErrorEstimates;

    /// (4 + 0 + 4)/2 over 8 draws.
    #[test]
    fn the_variance_by_hand() {
        assert_eq!(influence_variance(&[1.0, 3.0, 5.0], 8), 0.5);
    }

    #[test]
    fn it_says_how_many_features_it_takes() {
        let estimates = ErrorEstimates { jackknife: None, fresh_features: Some(0.02) };
        let evidence = Evidence { estimates, spectrum: Some(vec![0.7, 0.7]), ..ridge_fit() };
        let found = fresh_features(&evidence);
        let last = found.assumptions.last().unwrap();
        assert_eq!((last.have, last.need), (Some(200.0), Some(25.0)));
        assert_eq!(fresh_features(&ridge_fit()).value, None);
    }
}
