//! The smallest number of features with a bound on E(f_s − f)², and where there is none, the λ that has one.

use super::choices::MOST_DRAWS;
use super::{Choice, PlanProblem, PlannedRidge};
use crate::theory::Form;
use crate::theory::ours::relative::{LARGEST_SLACK, relative_bound, slack};
use crate::theory::papers::wang;
use crate::theory::statement::words::{as_given, rounded_down, rounded_up};

/// What the theorems on rows assume beside it.
pub(super) const IID_ROWS: &str = "if rows and new inputs are independent draws from one distribution and the features \
    are drawn plainly";

/// How many times λ is doubled, and then halved between, in search of one that is large enough.
const DOUBLINGS: usize = 1_100;
const HALVINGS: usize = 60;

/// A bound of the form E(f_s − f)² ≤ (c/m)·Q: c at s features and λ, where it applies.
pub(super) type Constant = fn(&PlanProblem, usize, f64) -> Option<f64>;

pub(super) const ABSOLUTE: Constant = absolute_constant;
pub(super) const RELATIVE: Constant = relative_constant;

/// Theorem 1's c at s features and λ, where it applies.
fn absolute_constant(problem: &PlanProblem, feature_count: usize, ridge: f64) -> Option<f64> {
    let PlanProblem { feature_bound: b, sample_count: n, failure_probability: delta, .. } = *problem;
    (ridge >= wang::threshold(b, n, feature_count, delta)).then(|| wang::theorem1_bound(b, 1, 1.0))
}

/// The same for the relative bound, up to the largest t that counts.
pub(super) fn relative_constant(problem: &PlanProblem, feature_count: usize, ridge: f64) -> Option<f64> {
    let PlanProblem { feature_bound: b, sample_count: n, failure_probability: delta, .. } = *problem;
    let t = slack(b, ridge, n, feature_count, delta);
    // A λ that was chosen to have this very t may miss it by rounding.
    (t <= LARGEST_SLACK + 1e-9).then(|| relative_bound(b, 1, t, 1.0))
}

/// What a search for the number of draws ends with.
enum Search {
    /// The smallest that is enough.
    Enough(u64),
    /// More than anyone draws.
    TooMany,
    /// With so many the theorem does not apply at their λ, and with fewer it does not reach the error.
    OutOfReach(u64),
}

impl PlanProblem {
    /// (c/m)·mean(y²)/(4λ) of so many draws at their λ, where the theorem applies.
    fn error_bound(&self, draws: u64, constant: Constant) -> Option<f64> {
        let columns = draws as usize * self.columns_per_draw;
        let ridge = self.ridge(columns);
        let worst = wang::worst_quadratic_form(self.target_mean_square, ridge);
        Some(constant(self, columns, ridge)? * worst / draws as f64)
    }

    /// The smallest m with a bound of at most `error`: too few come first, then enough, and then there may be too many
    /// for the theorem at this λ. A certified λ grows with the features: with few of them it may be too small for a
    /// theorem that it is large enough for later.
    fn search(&self, error: f64, constant: Constant) -> Search {
        let applies_later = self.error_bound(MOST_DRAWS, constant).is_some();
        let too_few = |draws| self.error_bound(draws, constant).map_or(applies_later, |bound| bound > error);
        let mut high = 1;
        while too_few(high) && high < MOST_DRAWS {
            high *= 2;
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if too_few(middle) { low = middle } else { high = middle }
        }
        match self.error_bound(high, constant) {
            Some(bound) if bound <= error => Search::Enough(high),
            Some(_) => Search::TooMany,
            None => Search::OutOfReach(high),
        }
    }

    /// The smallest λ, if fixed, at which some number of features is enough; a larger one makes every bound smaller and
    /// the theorem apply to more features. None where n is too small for any.
    fn smallest_ridge(&self, error: f64, constant: Constant) -> Option<f64> {
        let reaches = |ridge: f64| {
            let fixed = Self { ridge: PlannedRidge::Fixed(ridge), ..*self };
            matches!(fixed.search(error, constant), Search::Enough(_))
        };
        let start = self.ridge(self.columns_per_draw);
        let doubled = |ridge: &f64| Some(2.0 * ridge).filter(|ridge| ridge.is_finite());
        let mut high = std::iter::successors(Some(start), doubled).take(DOUBLINGS).find(|ridge| reaches(*ridge))?;
        let mut low = high / 2.0;
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if reaches(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// The choice for an error, by one theorem.
    pub(super) fn for_error(&self, id: &'static str, error: f64, constant: Constant) -> Choice {
        let columns = |draws: u64| draws as usize * self.columns_per_draw;
        let refuse = |draws, why: &str| self.choice(id, Form::Requirement, None, self.ridge(columns(draws)), why);
        match self.search(error, constant) {
            Search::Enough(draws) => {
                let why = format!(
                    "the squared distance to the exact method, on average over new inputs and over draws of the \
                     features, is then at most {}, leaving out draws outside an event of probability {}, {IID_ROWS}",
                    as_given(error),
                    self.probability()
                );
                let count = columns(draws) as f64;
                self.choice(id, Form::Requirement, Some(count), self.ridge(columns(draws)), &why)
            }
            Search::TooMany => refuse(MOST_DRAWS, "the error is too small for any"),
            Search::OutOfReach(draws) => {
                let (n, ridge) = (self.sample_count, rounded_down(self.ridge(columns(draws))));
                let remedy = match self.smallest_ridge(error, constant) {
                    Some(smallest) => format!("from lambda = {} on it does", rounded_up(smallest)),
                    None => "with so few no lambda does".into(),
                };
                refuse(
                    draws,
                    &format!("on {n} rows this theorem does not reach the error at lambda = {ridge}; {remedy}"),
                )
            }
        }
    }
}
