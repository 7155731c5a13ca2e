//! The smallest number of features that meets a goal, by one theorem.

use super::errors::IID_ROWS;
use super::{Choice, Cost, PlanProblem, PlannedRidge};
use crate::theory::Form;
use crate::theory::ours::relative::smallest_certified_ridge;
use crate::theory::papers::rudi_rosasco::{Rate, Regularity};
use crate::theory::papers::{avron, li};
use crate::theory::statement::words::{as_given, percent, rounded_down, rounded_up};

/// More draws than this are reported as too many to train.
pub(super) const MOST_DRAWS: u64 = 1 << 50;

/// How the features of a planned model are drawn. This decides the sum of leverages in a theorem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PlannedSampling {
    /// From the kernel: the sum is b/λ.
    Plain,
    /// By leverage: the sum is d(λ), which has to be known.
    Leverage,
}

impl PlannedSampling {
    fn words(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Leverage => "leverage at this lambda",
        }
    }
}

impl PlanProblem {
    /// The λ that will be used with a number of features.
    pub fn ridge(&self, feature_count: usize) -> f64 {
        match self.ridge {
            PlannedRidge::Fixed(ridge) => ridge,
            PlannedRidge::InverseSqrtN => 1.0 / (self.sample_count as f64).sqrt(),
            PlannedRidge::Certified => {
                smallest_certified_ridge(self.feature_bound, self.sample_count, feature_count, self.failure_probability)
            }
        }
    }

    /// b/λ, the sum of leverages for draws from the kernel.
    fn plain_leverage(&self, ridge: f64) -> f64 {
        self.feature_bound / ridge
    }

    /// d(λ), or its upper bound min(n, b/λ).
    fn dimension(&self, ridge: f64) -> f64 {
        let largest = (self.sample_count as f64).min(self.plain_leverage(ridge));
        self.effective_dimension.map_or(largest, |dimension| dimension.min(largest))
    }

    /// The smallest s that is enough at the λ of s features, and that λ. A λ that depends on s grows with s, and a larger
    /// λ requires fewer features. So the count required at the λ of one feature is enough, and the smallest is found
    /// by bisection below it.
    fn smallest_columns(&self, draws_at: impl Fn(f64) -> f64) -> (f64, f64) {
        if self.ridge != PlannedRidge::Certified {
            let ridge = self.ridge(1);
            return (self.columns(draws_at(ridge)), ridge);
        }
        let enough = |columns: f64| self.columns(draws_at(self.ridge(columns as usize))) <= columns;
        let step = self.columns_per_draw as f64;
        let (mut low, mut high) = (0.0, (self.columns(draws_at(self.ridge(1))) / step).min(MOST_DRAWS as f64));
        if !enough(high * step) {
            return (f64::INFINITY, self.ridge((high * step) as usize));
        }
        while high - low > 1.0 {
            let middle = f64::midpoint(low, high).floor();
            if enough(middle * step) { high = middle } else { low = middle }
        }
        (high * step, self.ridge((high * step) as usize))
    }

    /// 1 − δ in percent.
    pub(super) fn probability(&self) -> String {
        percent(self.failure_probability)
    }

    fn columns(&self, draws: f64) -> f64 {
        draws.ceil() * self.columns_per_draw as f64
    }

    /// The sum of leverages, to which the required draws are proportional; none if it is not known.
    fn leverage_sum(&self, sampling: PlannedSampling, ridge: f64) -> Option<f64> {
        match sampling {
            PlannedSampling::Plain => Some(self.plain_leverage(ridge)),
            PlannedSampling::Leverage => self.effective_dimension.map(|_| self.dimension(ridge)),
        }
    }

    /// Why no count follows: λ exceeds all eigenvalues of K/n, or the sum of leverages is not known.
    fn leverage_refusal(&self, sampling: PlannedSampling, ridge: f64) -> Option<String> {
        let largest = self.kernel_diagonal;
        if ridge > largest {
            let (ridge, largest) = (rounded_up(ridge), rounded_down(largest));
            return Some(format!(
                "no theorem applies to lambda = {ridge}, which exceeds {largest}, the upper bound on the eigenvalues of K/n; \
                 use a smaller lambda"
            ));
        }
        let unknown = self.leverage_sum(sampling, 1.0).is_none();
        unknown.then(|| "the theorem requires the effective dimension, which is not known".to_owned())
    }

    pub(super) fn for_delta(&self, id: &'static str, delta: f64, sampling: PlannedSampling) -> Choice {
        let refuse = |why: &str| self.choice(id, Form::Requirement, None, self.ridge(1), why);
        if delta > avron::LARGEST_DELTA {
            return refuse("the theorem covers only Delta ≤ 1/2; use a smaller Delta");
        }
        let (columns, ridge) = self.smallest_columns(|ridge| {
            let sum = self.leverage_sum(sampling, ridge).unwrap_or(f64::INFINITY);
            avron::draws_for_delta(sum, self.dimension(ridge), delta, self.failure_probability)
        });
        if let Some(why) = self.leverage_refusal(sampling, ridge) {
            return refuse(&why);
        }
        let why = format!(
            "the regularised kernel matrix is within a factor 1 ± {} of the exact one with probability at least {} over the \
             feature draws, if its largest eigenvalue is at least n lambda and sampling is {}",
            as_given(delta),
            self.probability(),
            sampling.words()
        );
        self.choice(id, Form::Requirement, Some(columns), ridge, &why)
    }

    pub(super) fn for_rate(&self, id: &'static str, rate: Rate, regularity: Regularity) -> Choice {
        let why = format!(
            "the excess risk is of the order of {:.3e} with probability at least {}, at the lambda of the theorem, {:.3e}, if \
             r = {}, gamma = {}, alpha = {}, {IID_ROWS}; the count leaves out a constant that the paper does not state",
            rate.risk,
            self.probability(),
            rate.ridge,
            regularity.source,
            regularity.capacity,
            regularity.leverage
        );
        self.choice(id, Form::Rate, Some(self.columns(rate.draws)), rate.ridge, &why)
    }

    pub(super) fn for_classifier(&self, id: &'static str, sampling: PlannedSampling) -> Choice {
        let (columns, ridge) = self.smallest_columns(|ridge| {
            let sum = self.leverage_sum(sampling, ridge).unwrap_or(f64::INFINITY);
            li::enough_draws(sum, self.dimension(ridge), self.failure_probability).repaired
        });
        if let Some(why) = self.leverage_refusal(sampling, ridge) {
            return self.choice(id, Form::Requirement, None, self.ridge(1), &why);
        }
        let why = format!(
            "a logistic or hinge classifier of two labels learns at the rate of the exact one with probability at least {}, \
             if the best function lies in the kernel's space, the rows are drawn independently from one distribution \
             and sampling is {}",
            self.probability(),
            sampling.words()
        );
        self.choice(id, Form::Requirement, Some(columns), ridge, &why)
    }

    pub(super) fn choice(&self, id: &'static str, form: Form, count: Option<f64>, ridge: f64, why: &str) -> Choice {
        let most = MOST_DRAWS as f64 * self.columns_per_draw as f64;
        let trainable = count.filter(|count| *count <= most);
        let statement = match (trainable, count) {
            (Some(count), _) => format!("{count} features: {why}."),
            (None, Some(_)) => format!("No number of features: more than {} would be required.", rounded_down(most)),
            (None, None) => format!("No number of features: {why}."),
        };
        let count = trainable;
        let cost = count.map(|count| Cost::of(self, count));
        Choice { id, form, feature_count: count.map(|count| count as u64), ridge, cost, statement }
    }
}
