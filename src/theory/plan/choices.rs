//! What each theorem asks for: the smallest number of features that meets a target.

use super::errors::IID_ROWS;
use super::{Choice, Cost, PlanProblem, PlannedRidge};
use crate::theory::Form;
use crate::theory::ours::relative::smallest_certified_ridge;
use crate::theory::papers::rudi_rosasco::{Rate, Regularity};
use crate::theory::papers::{avron, li};
use crate::theory::statement::words::{as_given, percent, rounded_down, rounded_up};

/// Beyond this many draws nobody trains.
pub(super) const MOST_DRAWS: u64 = 1 << 50;

/// The sum of leverages that a sampling has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LeverageMap {
    /// b/λ, of draws from the kernel.
    Plain,
    /// d(λ), of draws by leverage; it has to be known.
    Dimension,
}

impl LeverageMap {
    fn words(self) -> &'static str {
        match self {
            Self::Plain => "drawn plainly",
            Self::Dimension => "drawn by their leverage, which is not offered yet",
        }
    }
}

impl PlanProblem {
    /// λ for a number of features.
    pub fn ridge(&self, feature_count: usize) -> f64 {
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

    /// δ as it is said.
    pub(super) fn probability(&self) -> String {
        percent(self.failure_probability)
    }

    fn columns(&self, draws: f64) -> f64 {
        draws.ceil() * self.columns_per_draw as f64
    }

    /// Of a theorem whose draws are proportional to the sum of leverages; none where that is not known.
    fn leverage_sum(&self, leverage: LeverageMap, ridge: f64) -> Option<f64> {
        match leverage {
            LeverageMap::Plain => Some(self.plain_leverage(ridge)),
            LeverageMap::Dimension => self.effective_dimension.map(|_| self.dimension(ridge)),
        }
    }

    /// Why a theorem on the sum of leverages says nothing: it is not known, or λ is above all eigenvalues of K/n.
    fn leverage_refusal(&self, leverage: LeverageMap, ridge: f64) -> Option<String> {
        let largest = self.kernel_diagonal;
        if ridge > largest {
            let (ridge, largest) = (rounded_up(ridge), rounded_down(largest));
            return Some(format!(
                "lambda = {ridge} is above the largest eigenvalue that K/n can have, {largest}, where no theorem speaks; a \
                 smaller one would do"
            ));
        }
        let unknown = self.leverage_sum(leverage, 1.0).is_none();
        unknown.then(|| "the effective dimension has to be known".to_owned())
    }

    pub(super) fn for_delta(&self, id: &'static str, delta: f64, leverage: LeverageMap) -> Choice {
        let refuse = |why: &str| self.choice(id, Form::Requirement, None, self.ridge(1), why);
        if delta > avron::LARGEST_DELTA {
            return refuse("the theorem speaks of a Delta up to 1/2");
        }
        let (columns, ridge) = self.smallest_columns(|ridge| {
            let sum = self.leverage_sum(leverage, ridge).unwrap_or(f64::INFINITY);
            avron::draws_for_delta(sum, self.dimension(ridge), delta, self.failure_probability)
        });
        if let Some(why) = self.leverage_refusal(leverage, ridge) {
            return refuse(&why);
        }
        let why = format!(
            "with probability {} over the features the regularised kernel matrix is then within a factor 1 ± {} of the \
             exact one, if its largest eigenvalue is at least n lambda and the features are {}",
            self.probability(),
            as_given(delta),
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

    pub(super) fn for_classifier(&self, id: &'static str, leverage: LeverageMap) -> Choice {
        let (columns, ridge) = self.smallest_columns(|ridge| {
            let sum = self.leverage_sum(leverage, ridge).unwrap_or(f64::INFINITY);
            li::enough_draws(sum, self.dimension(ridge), self.failure_probability).repaired
        });
        if let Some(why) = self.leverage_refusal(leverage, ridge) {
            return self.choice(id, Form::Requirement, None, self.ridge(1), &why);
        }
        let why = format!(
            "a logistic or hinge classifier of two labels then learns at the rate of the exact one with probability {}, \
             if the best function lies in the kernel's space, rows are independent draws from one distribution, and the \
             features are {}",
            self.probability(),
            leverage.words()
        );
        self.choice(id, Form::Requirement, Some(columns), ridge, &why)
    }

    pub(super) fn choice(&self, id: &'static str, form: Form, count: Option<f64>, ridge: f64, why: &str) -> Choice {
        let most = MOST_DRAWS as f64 * self.columns_per_draw as f64;
        let trainable = count.filter(|count| *count <= most);
        let statement = match (trainable, count) {
            (Some(count), _) => format!("{count} features: {why}."),
            (None, Some(_)) => format!("No number of features: it would take more than {}.", rounded_down(most)),
            (None, None) => format!("No number of features: {why}."),
        };
        let count = trainable;
        let cost = count.map(|count| Cost::of(self, count));
        Choice { id, form, feature_count: count.map(|count| count as u64), ridge, cost, statement }
    }
}
