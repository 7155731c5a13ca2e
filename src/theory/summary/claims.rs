//! Bounds and estimates in one short sentence each.

use super::Facts;
use super::words::figure;
use crate::theory::statement::words::{percent, rounded_up};
use crate::theory::{Form, Guarantee, Status};

/// A figure this many times the measured one needs an explanation.
const LOOSE: f64 = 1_000.0;

/// One guarantee or estimate, in short.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Of the guarantee.
    pub id: &'static str,
    /// What it says, and with what probability.
    pub says: String,
}

impl Claim {
    /// Informative bounds on predictions and on their distance to the exact method.
    pub(super) fn proved(guarantee: &Guarantee, facts: &Facts) -> Option<Self> {
        let id = guarantee.id;
        let informative = matches!(guarantee.status, Status::Holds | Status::Conditional);
        if !informative || guarantee.form != Form::Bound || (id != "conformal" && !is_distance(guarantee)) {
            return None;
        }
        let value = guarantee.value.map(rounded_up)?;
        let says = match id {
            "conformal" if facts.predicts_labels => "The label set of a new row contains the true label".to_owned(),
            "conformal" => match facts.interval_width {
                Some(width) => {
                    format!("The interval of a new row, about {} wide, contains the true value", figure(width))
                }
                None => "The interval of a new row contains the true value".to_owned(),
            },
            "bochner.certificate_mean" => {
                let variance =
                    facts.target_variance.filter(|_| facts.targets.len() == 1).map_or_else(String::new, |variance| {
                        format!(", where the variance of '{}' is {},", facts.targets[0], figure(variance))
                    });
                format!("The mean squared distance of this model to the exact method is at most {value}{variance}")
            }
            _ if is_mean_square(guarantee) => format!(
                "Averaged over feature draws, counting only those inside an event of probability at least {}, the mean squared \
                 distance to the exact method is at most {value}",
                percent(facts.failure_probability)
            ),
            _ => guarantee.statement.split([';', '\n']).next().and_then(|claim| claim.split(". ").next())?.to_owned(),
        };
        let probability = match guarantee.probability {
            Some(probability) if !says.contains("probability") => {
                format!(" with probability at least {}", percent(1.0 - probability))
            }
            _ => String::new(),
        };
        let why = looseness(guarantee, facts.measured_distance).map_or_else(String::new, |why| format!(" {why}"));
        Some(Self { id, says: format!("{says}{probability}.{why}") })
    }

    /// Estimates of the distance to the exact method.
    pub(super) fn estimated(guarantee: &Guarantee, facts: &Facts) -> Option<Self> {
        let informative = matches!(guarantee.status, Status::Holds | Status::Conditional);
        let near = informative && guarantee.form == Form::Estimate && is_mean_square(guarantee);
        // A plug-in value far above the measured distance estimates nothing.
        let near =
            near && looseness(guarantee, facts.measured_distance).is_none() && guarantee.id.starts_with("bochner.");
        let value = guarantee.value.filter(|_| near)?;
        let ends = guarantee.inputs.get("low").zip(guarantee.inputs.get("high"));
        let interval = ends.map_or_else(String::new, |(low, high)| {
            format!(
                "; for nine of ten such models it is estimated to be between {} and {}",
                figure(*low),
                figure(*high)
            )
        });
        let says = format!("The mean squared distance to the exact method is about {}{interval}.", figure(value));
        Some(Self { id: guarantee.id, says })
    }
}

fn is_distance(guarantee: &Guarantee) -> bool {
    guarantee.bounds.contains("f_s(x) - f(x)")
}

fn is_mean_square(guarantee: &Guarantee) -> bool {
    guarantee.bounds.starts_with("mean of (f_s(x) - f(x))^2")
}

/// Why a bound or estimate is far above what was measured; none if it is not, or if nothing was measured.
pub fn looseness(guarantee: &Guarantee, measured_distance: Option<f64>) -> Option<String> {
    let comparable = matches!(guarantee.form, Form::Bound | Form::Estimate) && is_mean_square(guarantee);
    let measured = measured_distance.filter(|measured| comparable && *measured > 0.0)?;
    let ratio = guarantee.value? / measured;
    (ratio >= LOOSE).then(|| {
        format!(
            "The distance measured for this model is {}, about {} times smaller: the formula covers the worst data that meet \
             its assumptions.",
            figure(measured),
            figure(ratio)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::guarantees;
    use crate::theory::statement::remedy::tests::AT_HAND;
    use crate::theory::summary::summarize;

    #[test]
    fn a_loose_bound_says_why() {
        let found = guarantees(&ridge_fit(), 0.05, 0.95, &AT_HAND).guarantees;
        let theorem1 = found.iter().find(|found| found.id == "wang.theorem1").unwrap();
        let value = theorem1.value.unwrap();
        assert_eq!(looseness(theorem1, None), None);
        assert_eq!(looseness(theorem1, Some(value / 999.0)), None);
        let why = looseness(theorem1, Some(value / 2_000.0)).unwrap();
        assert!(why.contains("about 2,000 times smaller: the formula covers the worst data"), "{why}");
        let facts = Facts {
            measured_distance: Some(value / 2_000.0),
            feature_count: Some(200),
            failure_probability: 0.05,
            ..Facts::default()
        };
        let summary = summarize(&facts, &found);
        for claim in summary.proved.iter().filter(|claim| claim.id.starts_with("wang")) {
            assert!(claim.says.contains("of probability at least 95%, the mean squared distance"), "{}", claim.says);
            assert!(claim.says.contains("times smaller"), "{}", claim.says);
        }
    }
}
