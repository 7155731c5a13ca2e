//! What each theorem asks for: the smallest number of features that meets a target.

use super::{Choice, Cost, PlannedRidge, Problem};
use crate::theory::relative::{LARGEST_SLACK, relative_bound, slack, smallest_certified_ridge};
use crate::theory::rudi_rosasco::{Rate, Regularity};
use crate::theory::words::percent;
use crate::theory::{Form, avron, li, wang};

/// Beyond this many draws nobody trains.
const MOST_DRAWS: u64 = 1 << 50;

/// The sum of leverages that a sampling has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Leverage {
    /// b/λ, of draws from the kernel.
    Plain,
    /// d(λ), of draws by leverage; it has to be known.
    Dimension,
}

impl Leverage {
    fn words(self) -> &'static str {
        match self {
            Self::Plain => "drawn plainly",
            Self::Dimension => "drawn by their leverage",
        }
    }
}

/// What the theorems on rows assume beside it.
const IID_ROWS: &str = "if rows and new inputs are independent draws from one distribution and the features are drawn \
    plainly";

/// A bound of the form E(f_s − f)² ≤ (c/m)·Q.
pub(super) struct ErrorBound {
    /// c at s features and λ, where it applies.
    constant: fn(&Problem, usize, f64) -> Option<f64>,
    /// The smallest λ at which it applies to s features.
    smallest_ridge: fn(f64, usize, usize, f64) -> f64,
}

pub(super) const ABSOLUTE: ErrorBound = ErrorBound { constant: absolute_constant, smallest_ridge: wang::threshold };
pub(super) const RELATIVE: ErrorBound =
    ErrorBound { constant: relative_constant, smallest_ridge: smallest_certified_ridge };

/// Theorem 1's c at s features and λ, where it applies.
fn absolute_constant(problem: &Problem, feature_count: usize, ridge: f64) -> Option<f64> {
    let Problem { feature_bound: b, sample_count: n, failure_probability: delta, .. } = *problem;
    (ridge >= wang::threshold(b, n, feature_count, delta)).then(|| wang::theorem1_bound(b, 1, 1.0))
}

/// The same for the relative bound, up to the largest t that counts.
pub(super) fn relative_constant(problem: &Problem, feature_count: usize, ridge: f64) -> Option<f64> {
    let Problem { feature_bound: b, sample_count: n, failure_probability: delta, .. } = *problem;
    let t = slack(b, ridge, n, feature_count, delta);
    // A λ that was chosen to have this very t may miss it by rounding.
    (t <= LARGEST_SLACK + 1e-9).then(|| relative_bound(b, 1, t, 1.0))
}

impl Problem {
    /// λ for a number of features.
    pub(super) fn ridge(&self, feature_count: usize) -> f64 {
        match self.ridge {
            PlannedRidge::Fixed(ridge) => ridge,
            PlannedRidge::InverseSqrtN => 1.0 / (self.sample_count as f64).sqrt(),
            PlannedRidge::Certified => {
                smallest_certified_ridge(self.feature_bound, self.sample_count, feature_count, self.failure_probability)
            }
        }
    }

    /// b/λ, the leverages of draws from the kernel.
    fn plain_leverage(&self, ridge: f64) -> f64 {
        self.feature_bound / ridge
    }

    /// d(λ), or the most it can be.
    fn dimension(&self, ridge: f64) -> f64 {
        let largest = (self.sample_count as f64).min(self.plain_leverage(ridge));
        self.effective_dimension.map_or(largest, |dimension| dimension.min(largest))
    }

    /// The smallest s that is enough at the λ of s features, and that λ. A λ that depends on s grows with it, and a
    /// larger one asks for fewer features: what one feature's λ asks for is enough, and the least is below.
    fn smallest_columns(&self, draws_at: impl Fn(f64) -> f64) -> (f64, f64) {
        if self.ridge != PlannedRidge::Certified {
            let ridge = self.ridge(1);
            return (self.columns(draws_at(ridge)), ridge);
        }
        let enough = |columns: f64| self.columns(draws_at(self.ridge(columns as usize))) <= columns;
        let step = self.columns_per_draw as f64;
        let (mut low, mut high) = (0.0, self.columns(draws_at(self.ridge(1))) / step);
        while high - low > 1.0 {
            let middle = f64::midpoint(low, high).floor();
            if enough(middle * step) { high = middle } else { low = middle }
        }
        (high * step, self.ridge((high * step) as usize))
    }

    /// δ as it is said.
    fn probability(&self) -> String {
        percent(self.failure_probability)
    }

    fn columns(&self, draws: f64) -> f64 {
        draws.ceil() * self.columns_per_draw as f64
    }

    /// The smallest s with (c/m)·mean(y²)/(4λ) ≤ error: too few features come first, then enough, and where
    /// λ is fixed there may be too many for the theorem.
    pub(super) fn for_error(&self, id: &'static str, error: f64, theorem: &ErrorBound) -> Choice {
        let columns = |draws: u64| draws as usize * self.columns_per_draw;
        let bound = |draws: u64| {
            let ridge = self.ridge(columns(draws));
            let worst = wang::worst_quadratic_form(self.target_mean_square, ridge);
            Some((theorem.constant)(self, columns(draws), ridge)? * worst / draws as f64)
        };
        let too_few = |draws| bound(draws).is_some_and(|bound| bound > error);
        let mut high = 1;
        while too_few(high) && high < MOST_DRAWS {
            high *= 2;
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if too_few(middle) { low = middle } else { high = middle }
        }
        let ridge = self.ridge(columns(high));
        match bound(high) {
            Some(reached) if reached <= error => {
                let why = format!(
                    "the squared distance to the exact method, on average over new inputs and over draws of the \
                     features, is then at most {error}, leaving out draws outside an event of probability {}, {IID_ROWS}",
                    self.probability()
                );
                self.choice(id, Form::Requirement, Some(columns(high) as f64), ridge, &why)
            }
            Some(_) => self.choice(id, Form::Requirement, None, ridge, "the error is too small for any"),
            None => {
                let (b, n, delta) = (self.feature_bound, self.sample_count, self.failure_probability);
                let smallest = (theorem.smallest_ridge)(b, n, columns(high), delta);
                let why = format!(
                    "lambda = {ridge:.3e} is too small for this theorem on {n} rows; it reaches down to {smallest:.3e}"
                );
                self.choice(id, Form::Requirement, None, ridge, &why)
            }
        }
    }

    /// Of a theorem whose draws are proportional to the sum of leverages; none where that is not known.
    fn leverage_sum(&self, leverage: Leverage, ridge: f64) -> Option<f64> {
        match leverage {
            Leverage::Plain => Some(self.plain_leverage(ridge)),
            Leverage::Dimension => self.effective_dimension,
        }
    }

    pub(super) fn for_delta(&self, id: &'static str, delta: f64, leverage: Leverage) -> Choice {
        let refuse = |why| self.choice(id, Form::Requirement, None, self.ridge(1), why);
        if delta > avron::LARGEST_DELTA {
            return refuse("the theorem speaks of a Delta up to 1/2");
        }
        if self.leverage_sum(leverage, 1.0).is_none() {
            return refuse("the effective dimension has to be known");
        }
        let (columns, ridge) = self.smallest_columns(|ridge| {
            let sum = self.leverage_sum(leverage, ridge).unwrap_or(f64::INFINITY);
            avron::draws_for_delta(sum, self.dimension(ridge), delta, self.failure_probability)
        });
        let why = format!(
            "with probability {} over the features the regularised kernel matrix is then within a factor 1 ± {delta} of \
             the exact one, if its largest eigenvalue is at least n lambda and the features are {}",
            self.probability(),
            leverage.words()
        );
        self.choice(id, Form::Requirement, Some(columns), ridge, &why)
    }

    pub(super) fn for_rate(&self, id: &'static str, rate: Rate, regularity: Regularity) -> Choice {
        let why = format!(
            "times a factor the paper leaves open; at the lambda that the theorem sets, {:.3e}, the excess risk is then of \
             the order {:.3e} with probability {} if r = {}, gamma = {} and alpha = {}, {IID_ROWS}",
            rate.ridge,
            rate.risk,
            self.probability(),
            regularity.source,
            regularity.capacity,
            regularity.leverage
        );
        self.choice(id, Form::Rate, Some(self.columns(rate.draws)), rate.ridge, &why)
    }

    pub(super) fn for_classifier(&self, id: &'static str, leverage: Leverage) -> Choice {
        if self.leverage_sum(leverage, 1.0).is_none() {
            return self.choice(id, Form::Requirement, None, self.ridge(1), "the effective dimension has to be known");
        }
        let (columns, ridge) = self.smallest_columns(|ridge| {
            let sum = self.leverage_sum(leverage, ridge).unwrap_or(f64::INFINITY);
            li::enough_draws(sum, self.dimension(ridge), self.failure_probability).repaired
        });
        let why = format!(
            "a logistic or hinge classifier of two labels then learns at the rate of the exact one with probability {}, \
             if the best function lies in the kernel's space, rows are independent draws from one distribution, and the \
             features are {}",
            self.probability(),
            leverage.words()
        );
        self.choice(id, Form::Requirement, Some(columns), ridge, &why)
    }

    fn choice(&self, id: &'static str, form: Form, count: Option<f64>, ridge: f64, why: &str) -> Choice {
        let statement = match count {
            Some(count) => format!("{count} features: {why}."),
            None => format!("No number of features: {why}."),
        };
        let cost = count.map(|count| Cost::of(self, count));
        Choice { id, form, feature_count: count.map(|count| count as u64), ridge, cost, statement }
    }
}
