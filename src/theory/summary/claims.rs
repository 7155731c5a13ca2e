//! Bounds and estimates in one short sentence each.

use super::Facts;
use super::words::{count, figure};
use crate::theory::{Form, Guarantee};
use serde::Serialize;

/// A bound this many times the measured value needs an explanation.
const LOOSE: f64 = 1_000.0;

/// One guarantee or estimate, in short.
#[derive(Debug, Clone, Serialize)]
pub struct Claim {
    /// Of the guarantee.
    pub id: &'static str,
    /// What it says.
    pub says: String,
    /// At least this; none for estimates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Whether it bounds or estimates the distance to the exact kernel method.
    #[serde(skip)]
    pub of_distance: bool,
}

impl Claim {
    pub(super) fn of(guarantee: &Guarantee, facts: &Facts) -> Self {
        let says = match looseness(guarantee, facts.measured_distance) {
            Some(why) => format!("{} {why}", says(guarantee, facts)),
            None => says(guarantee, facts),
        };
        let of_distance = guarantee.bounds.contains("f_s(x) - f(x)");
        Self { id: guarantee.id, says, probability: guarantee.probability, of_distance }
    }
}

fn says(guarantee: &Guarantee, facts: &Facts) -> String {
    let Some(value) = guarantee.value.map(figure) else { return first_sentence(&guarantee.statement) };
    let average = bounds_squared_distance(guarantee);
    match (guarantee.id, guarantee.form) {
        ("conformal", _) if facts.predicts_labels => "The label set of a new row contains the true label.".to_owned(),
        ("conformal", _) => match facts.interval_width {
            Some(width) => format!("The interval of a new row, {} wide, contains the true value.", figure(width)),
            None => "The interval of a new row contains the true value.".to_owned(),
        },
        ("bochner.certificate_mean", _) => {
            format!("The mean squared distance of this model to the exact method is at most {value}.")
        }
        (_, Form::Bound) if average => {
            format!(
                "For feature draws like this one, the mean squared distance to the exact method is at most {value}."
            )
        }
        (_, Form::Estimate) if average => {
            format!("The mean squared distance to the exact method is about {value}.")
        }
        _ => first_sentence(&guarantee.statement),
    }
}

/// Up to the first full stop or semicolon that ends a clause; decimal points are followed by a digit.
fn first_sentence(statement: &str) -> String {
    let end = [". ", "; "].iter().filter_map(|stop| statement.find(stop)).min();
    end.map_or_else(|| statement.to_owned(), |end| format!("{}.", &statement[..end]))
}

fn bounds_squared_distance(guarantee: &Guarantee) -> bool {
    guarantee.bounds.starts_with("mean of (f_s(x) - f(x))^2")
}

/// Why a bound is far above what was measured; none if it is not, or if nothing was measured.
pub fn looseness(guarantee: &Guarantee, measured_distance: Option<f64>) -> Option<String> {
    let comparable = guarantee.form == Form::Bound && bounds_squared_distance(guarantee);
    let measured = measured_distance.filter(|measured| comparable && *measured > 0.0)?;
    let ratio = guarantee.value? / measured;
    (ratio >= LOOSE).then(|| {
        format!(
            "The distance measured for this model is {}, about {} times smaller: the bound covers the worst data that meet \
             its assumptions, and these are not the worst.",
            figure(measured),
            figure(ratio).parse::<f64>().map_or_else(|_| figure(ratio), |ratio| count(ratio as usize))
        )
    })
}
