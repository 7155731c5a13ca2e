//! The smallest number of features with a given bound on E(f_s − f)², or the λ at which there is one.

use super::choices::MOST_DRAWS;
use super::{Choice, PlanProblem, PlannedRidge};
use crate::theory::Form;
use crate::theory::ours::relative::{LARGEST_SLACK, relative_bound, slack};
use crate::theory::papers::wang;
use crate::theory::statement::words::{as_given, rounded_down, rounded_up};

/// The assumptions of the theorems on random rows, as a clause.
pub(super) const IID_ROWS: &str =
    "rows and new inputs are drawn independently from one distribution and sampling is plain";

/// The steps of the search for a large enough λ: first doubling, then bisection.
const DOUBLINGS: usize = 1_100;
const HALVINGS: usize = 60;

/// c of a bound E(f_s − f)² ≤ (c/m)·Q at s features and λ; none if the bound does not apply there.
pub(super) type Constant = fn(&PlanProblem, usize, f64) -> Option<f64>;

/// The constant of Theorem 1.
pub(super) fn absolute_constant(problem: &PlanProblem, feature_count: usize, ridge: f64) -> Option<f64> {
    let PlanProblem { feature_bound: b, sample_count: n, failure_probability: delta, .. } = *problem;
    (ridge >= wang::threshold(b, n, feature_count, delta)).then(|| wang::theorem1_bound(b, 1, 1.0))
}

/// The constant of the relative bound, for t up to [`LARGEST_SLACK`].
pub(super) fn relative_constant(problem: &PlanProblem, feature_count: usize, ridge: f64) -> Option<f64> {
    let PlanProblem { feature_bound: b, sample_count: n, failure_probability: delta, .. } = *problem;
    let t = slack(b, ridge, n, feature_count, delta)?;
    // A λ chosen to give exactly this t may miss it by a rounding error.
    (t <= LARGEST_SLACK + 1e-9).then(|| relative_bound(b, 1, t, 1.0))
}

/// The result of a search for the number of draws.
enum Search {
    /// The smallest number that is enough.
    Enough(u64),
    /// More than [`MOST_DRAWS`].
    TooMany,
    /// With this many the theorem no longer applies at their λ, and with fewer its bound exceeds the error.
    OutOfReach(u64),
}

impl PlanProblem {
    /// (c/m)·mean(y²)/(4λ) at the λ of this many draws; none if the theorem does not apply.
    fn error_bound(&self, draws: u64, constant: Constant) -> Option<f64> {
        let columns = draws as usize * self.columns_per_draw;
        let ridge = self.ridge(columns);
        let worst = wang::worst_quadratic_form(self.target_mean_square, ridge);
        Some(constant(self, columns, ridge)? * worst / draws as f64)
    }

    /// The smallest m with a bound of at most `error`. As m grows, it is first too small, then enough, and then possibly
    /// too large for the theorem at this λ. A certified λ grows with the features, so a theorem may apply only from
    /// some number of features on.
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

    /// The smallest fixed λ at which some number of features is enough. A larger λ makes every bound smaller and lets the
    /// theorem apply to more features. None if λ would overflow.
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

    /// The smallest number of features for an error, if one is enough.
    pub(super) fn count_for_error(&self, error: f64, constant: Constant) -> Option<u64> {
        match self.search(error, constant) {
            Search::Enough(draws) => Some(draws * self.columns_per_draw as u64),
            Search::TooMany | Search::OutOfReach(_) => None,
        }
    }

    /// The number of features for an error, by one theorem.
    pub(super) fn for_error(&self, id: &'static str, error: f64, constant: Constant) -> Choice {
        let columns = |draws: u64| draws as usize * self.columns_per_draw;
        let refuse = |draws, why: &str| self.choice(id, Form::Requirement, None, self.ridge(columns(draws)), why);
        match self.search(error, constant) {
            Search::Enough(draws) => {
                let why = format!(
                    "averaged over new inputs and feature draws, the squared difference to the exact method is at most {}, \
                     counting only rows and features inside an event of probability at least {}, if {IID_ROWS}",
                    as_given(error),
                    self.probability()
                );
                let count = columns(draws) as f64;
                self.choice(id, Form::Requirement, Some(count), self.ridge(columns(draws)), &why)
            }
            Search::TooMany => refuse(MOST_DRAWS, "the error is too small; use a larger one"),
            Search::OutOfReach(draws) => {
                let (n, ridge) = (self.sample_count, rounded_down(self.ridge(columns(draws))));
                let remedy = match self.smallest_ridge(error, constant) {
                    Some(smallest) => format!("use lambda ≥ {}", rounded_up(smallest)),
                    None => "use a larger error".into(),
                };
                refuse(
                    draws,
                    &format!("on {n} rows, this theorem does not reach the error at lambda = {ridge}; {remedy}"),
                )
            }
        }
    }
}
