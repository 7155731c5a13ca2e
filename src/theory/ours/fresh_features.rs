//! What one more feature would change, from features that were not used: ours.
//!
//! With r = (y − Ψw)/(nλ), a fresh draw v has a(v) = ψᵥᵀr and
//! h(x,v) = ψ(x)ᵀ(ΨᵀΨ + nλI)⁻¹Ψᵀψᵥ; its influence is g(x,v) = a(v)(ψ(x;v) − h(x,v)), and the estimate
//! of E(f_s − f)² is the mean over x of Var over v of g, divided by the draws. Right within 20 % once
//! there are 25 times as many features as effective dimensions, 1.5–4 times too large below.

use super::jackknife::measured_error;
use crate::theory::papers::wang::theorem1::ERROR;
use crate::theory::statement::guarantee::Source;
use crate::theory::{Assumption, Evidence, Form, Guarantee, Lack};

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
    measured_error(FRESH, evidence, error, "the influence of features that were not used", enough_features(evidence))
}

/// Where the dimension is known of the features alone it is too small, so that it can refute and not confirm.
fn enough_features(evidence: &Evidence) -> Option<Assumption> {
    let (dimension, _) = evidence.effective_dimension()?;
    let (have, need) = (evidence.feature_count as f64, ENOUGH_FEATURES * dimension);
    let text = "s is 25 times the effective dimension, below which it is too large";
    let found =
        if have < need { Assumption::at_least(text, have, need) } else { Assumption::of_order(text, have, need) };
    Some(found.mended_by("More features or a larger lambda would make it right."))
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
    fn it_says_how_many_features_it_takes() {
        let estimates = ErrorEstimates { jackknife: None, fresh_features: Some(0.02) };
        let evidence = Evidence { estimates, spectrum: Some(vec![0.7, 0.7]), ..ridge_fit() };
        let found = fresh_features(&evidence);
        let last = found.assumptions.last().unwrap();
        assert_eq!((last.have, last.need, found.status), (Some(200.0), Some(25.0), Status::Conditional));
        assert_eq!(fresh_features(&ridge_fit()).value, None);
        let few = fresh_features(&Evidence { feature_count: 24, draw_count: 24, ..evidence.clone() });
        assert_eq!((few.value, few.status), (Some(0.02), Status::NotApplicable));
        assert!(few.statement.contains("too large (needs 25, has 24). More features"), "{}", few.statement);
        // A job that would measure it does not help either.
        let estimates = ErrorEstimates::default();
        let unmeasured = fresh_features(&Evidence { feature_count: 24, draw_count: 24, estimates, ..evidence });
        assert_eq!(unmeasured.lacks, None);
    }
}
