//! How many features a target takes, theorem by theorem, before anything is trained.
//!
//! Nothing is known of the targets but their mean square, so Theorem 1 appears at its worst Q (Remark 1).

use super::relative::{LARGEST_SLACK, relative_bound, slack, smallest_certified_ridge};
use super::rudi_rosasco::{Rate, Regularity, WORST_CASE, rate, worst_case_rate};
use super::{Form, avron, li, wang};
use serde::Serialize;

/// What is planned for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Problem {
    /// n.
    pub sample_count: usize,
    /// d.
    pub input_dim: usize,
    /// b.
    pub feature_bound: f64,
    /// s/m of the map: 2 for pair, 1 for the others.
    pub columns_per_draw: usize,
    /// λ.
    pub ridge: PlannedRidge,
    /// δ.
    pub failure_probability: f64,
    /// (1/n)Σy², centred.
    pub target_mean_square: f64,
    /// d(λ), where it is known.
    pub effective_dimension: Option<f64>,
}

/// How λ will be chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlannedRidge {
    /// Given.
    Fixed(f64),
    /// 1/√n.
    InverseSqrtN,
    /// The smallest that a bound certifies for the planned number of features.
    Certified,
}

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// E(f_s − f)² at most this.
    Error(f64),
    /// Δ at most this.
    SpectralDelta(f64),
    /// The learning rate of the exact method, under these assumptions.
    Rate(Regularity),
}

/// What one theorem asks for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// The guarantee it belongs to.
    pub id: &'static str,
    /// Whether the count is a requirement or a rate with unknown factor.
    pub form: Form,
    /// s; none where no number of features is enough.
    pub feature_count: Option<u64>,
    /// The λ it holds at.
    pub ridge: f64,
    /// Of training and serving that many features.
    pub cost: Option<Cost>,
    /// For a reader who is not a specialist.
    pub statement: String,
}

/// What a number of features costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// The Gram matrix, the frequencies and the weights while training.
    pub memory_bytes: f64,
    /// Features of all rows, their Gram matrix, its Cholesky factor.
    pub training_flops: f64,
    /// Of one row.
    pub prediction_flops: f64,
}

const F64_BYTES: f64 = 8.0;
/// Beyond this many draws nobody trains.
const MOST_DRAWS: u64 = 1 << 50;

impl Cost {
    /// Of s features by m draws in d dimensions on n rows: 2nmd + ns² + s³/3 to train, 2md + 2s to predict.
    fn of(problem: &Problem, feature_count: f64) -> Self {
        let (n, d, s) = (problem.sample_count as f64, problem.input_dim as f64, feature_count);
        let m = s / problem.columns_per_draw as f64;
        Self {
            memory_bytes: F64_BYTES * (s * s + m * d + s),
            training_flops: 2.0 * n * m * d + n * s * s + s * s * s / 3.0,
            prediction_flops: 2.0 * m * d + 2.0 * s,
        }
    }
}

/// The choices for a target, one for each theorem that speaks of it.
pub fn plan(problem: &Problem, target: Target) -> Vec<Choice> {
    match target {
        Target::Error(error) => vec![
            problem.for_error("wang.remark1", error, &ABSOLUTE),
            problem.for_error("bochner.theorem1_relative", error, &RELATIVE),
        ],
        Target::SpectralDelta(delta) => vec![
            problem.for_delta("avron.theorem7", delta, Some(problem.plain_leverage())),
            problem.for_delta("avron.lemma6", delta, problem.effective_dimension),
        ],
        Target::Rate(regularity) => {
            let Problem { feature_bound: b, sample_count: n, failure_probability: delta, .. } = *problem;
            let without_leverage = Regularity { leverage: 1.0, ..regularity };
            vec![
                problem.for_rate("rudi_rosasco.theorem1", worst_case_rate(b, n, delta), WORST_CASE),
                problem.for_rate("rudi_rosasco.theorem2", rate(without_leverage, b, n, delta), without_leverage),
                problem.for_rate("rudi_rosasco.theorem3", rate(regularity, b, n, delta), regularity),
                problem.for_classifier("li.corollary1", Some(problem.plain_leverage())),
                problem.for_classifier("li.corollary2", problem.effective_dimension),
            ]
        }
    }
}

/// A bound of the form E(f_s − f)² ≤ (c/m)·Q.
struct ErrorBound {
    /// c at s features and λ, where it applies.
    constant: fn(&Problem, usize, f64) -> Option<f64>,
    /// The smallest λ at which it applies to s features.
    smallest_ridge: fn(f64, usize, usize, f64) -> f64,
}

const ABSOLUTE: ErrorBound = ErrorBound { constant: absolute_constant, smallest_ridge: wang::threshold };
const RELATIVE: ErrorBound = ErrorBound { constant: relative_constant, smallest_ridge: smallest_certified_ridge };

/// Theorem 1's c at s features and λ, where it applies.
fn absolute_constant(problem: &Problem, feature_count: usize, ridge: f64) -> Option<f64> {
    let Problem { feature_bound: b, sample_count: n, failure_probability: delta, .. } = *problem;
    (ridge >= wang::threshold(b, n, feature_count, delta)).then(|| wang::theorem1_bound(b, 1, 1.0))
}

/// The same for the relative bound, up to the largest t that counts.
fn relative_constant(problem: &Problem, feature_count: usize, ridge: f64) -> Option<f64> {
    let Problem { feature_bound: b, sample_count: n, failure_probability: delta, .. } = *problem;
    let t = slack(b, ridge, n, feature_count, delta);
    // A λ that was chosen to have this very t may miss it by rounding.
    (t <= LARGEST_SLACK + 1e-9).then(|| relative_bound(b, 1, t, 1.0))
}

impl Problem {
    /// λ for a number of features.
    fn ridge(&self, feature_count: usize) -> f64 {
        match self.ridge {
            PlannedRidge::Fixed(ridge) => ridge,
            PlannedRidge::InverseSqrtN => 1.0 / (self.sample_count as f64).sqrt(),
            PlannedRidge::Certified => {
                smallest_certified_ridge(self.feature_bound, self.sample_count, feature_count, self.failure_probability)
            }
        }
    }

    /// b/λ, the leverages of draws from the kernel, with the λ of one feature where it depends on them.
    fn plain_leverage(&self) -> f64 {
        self.feature_bound / self.ridge(1)
    }

    /// d(λ), or the most it can be.
    fn dimension(&self) -> f64 {
        let largest = (self.sample_count as f64).min(self.plain_leverage());
        self.effective_dimension.map_or(largest, |dimension| dimension.min(largest))
    }

    fn columns(&self, draws: f64) -> f64 {
        draws.ceil() * self.columns_per_draw as f64
    }

    /// The smallest s with (c/m)·mean(y²)/(4λ) ≤ error: too few features come first, then enough, and where
    /// λ is fixed there may be too many for the theorem.
    fn for_error(&self, id: &'static str, error: f64, theorem: &ErrorBound) -> Choice {
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
                let why = format!("the average squared distance to the exact method is then at most {error}");
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

    fn for_delta(&self, id: &'static str, delta: f64, leverage_sum: Option<f64>) -> Choice {
        let ridge = self.ridge(1);
        let Some(sum) = leverage_sum.filter(|_| delta <= avron::LARGEST_DELTA) else {
            let why = if delta > avron::LARGEST_DELTA {
                "the theorem speaks of a Delta up to 1/2"
            } else {
                "the effective dimension has to be known"
            };
            return self.choice(id, Form::Requirement, None, ridge, why);
        };
        let draws = avron::draws_for_delta(sum, self.dimension(), delta, self.failure_probability);
        let why = format!("the regularised kernel matrix is then within a factor 1 ± {delta} of the exact one");
        self.choice(id, Form::Requirement, Some(self.columns(draws)), ridge, &why)
    }

    fn for_rate(&self, id: &'static str, rate: Rate, regularity: Regularity) -> Choice {
        let why = format!(
            "times a factor the paper leaves open; the excess risk is then of the order {:.3e} if r = {}, gamma = {} and \
             alpha = {}",
            rate.risk, regularity.source, regularity.capacity, regularity.leverage
        );
        self.choice(id, Form::Rate, Some(self.columns(rate.draws)), rate.ridge, &why)
    }

    fn for_classifier(&self, id: &'static str, leverage_sum: Option<f64>) -> Choice {
        let ridge = self.ridge(1);
        let Some(sum) = leverage_sum else {
            return self.choice(id, Form::Requirement, None, ridge, "the effective dimension has to be known");
        };
        let draws = li::enough_draws(sum, self.dimension(), self.failure_probability).repaired;
        let why = "a logistic or hinge classifier then learns at the rate of the exact one";
        self.choice(id, Form::Requirement, Some(self.columns(draws)), ridge, why)
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

#[cfg(test)]
mod tests {
    use super::*;

    const PROBLEM: Problem = Problem {
        sample_count: 16_000,
        input_dim: 8,
        feature_bound: 1.0,
        columns_per_draw: 2,
        ridge: PlannedRidge::Fixed(0.1),
        failure_probability: 0.05,
        target_mean_square: 1.0,
        effective_dimension: Some(20.0),
    };

    /// Remark 1: (1/(m·0.1))·1 ≤ 0.01 at m = 1000 draws, 2000 columns.
    #[test]
    fn remark_1_by_hand() {
        let choice = &plan(&PROBLEM, Target::Error(0.01))[0];
        assert_eq!((choice.id, choice.feature_count), ("wang.remark1", Some(2_000)));
        let cost = choice.cost.unwrap();
        assert_eq!(cost.memory_bytes, 8.0 * (4_000_000.0 + 8_000.0 + 2_000.0));
        assert_eq!(cost.prediction_flops, 20_000.0);
        assert!((cost.training_flops - (256e6 + 64e9 + 8e9 / 3.0)).abs() < 1.0);
    }

    /// What is planned for an error meets it, and one draw fewer does not.
    #[test]
    fn the_relative_count_is_the_smallest() {
        let certified = Problem { ridge: PlannedRidge::Certified, ..PROBLEM };
        for problem in [PROBLEM, certified] {
            let choice = &plan(&problem, Target::Error(0.05))[1];
            let bound = |columns: u64| {
                let ridge = problem.ridge(columns as usize);
                let c = relative_constant(&problem, columns as usize, ridge).unwrap();
                c / (columns / 2) as f64 * wang::worst_quadratic_form(1.0, ridge)
            };
            let columns = choice.feature_count.unwrap();
            assert!(bound(columns) <= 0.05 && bound(columns - 2) > 0.05, "{columns}");
        }
    }

    #[test]
    fn a_small_ridge_is_out_of_reach_and_says_what_would_do() {
        let small = Problem { ridge: PlannedRidge::Fixed(1e-6), ..PROBLEM };
        for choice in plan(&small, Target::Error(0.05)) {
            assert_eq!((choice.feature_count, choice.cost), (None, None));
            assert!(choice.statement.contains("it reaches down to"), "{}", choice.statement);
        }
        // The relative bound reaches where Theorem 1 does not.
        let between = plan(&Problem { ridge: PlannedRidge::Fixed(0.01), ..PROBLEM }, Target::Error(0.1));
        assert_eq!(between[0].feature_count, None);
        assert!(between[1].feature_count.is_some());
    }

    #[test]
    fn spectral_targets_and_rates_name_their_theorems() {
        let ids = |target| plan(&PROBLEM, target).iter().map(|choice| choice.id).collect::<Vec<_>>();
        assert_eq!(ids(Target::SpectralDelta(0.5)), ["avron.theorem7", "avron.lemma6"]);
        assert_eq!(ids(Target::Rate(WORST_CASE)).len(), 5);
        let [plain, leverage] = &plan(&PROBLEM, Target::SpectralDelta(0.25))[..] else { panic!() };
        assert!(plain.feature_count.unwrap() < plan(&PROBLEM, Target::SpectralDelta(0.1))[0].feature_count.unwrap());
        assert_eq!(leverage.feature_count.map(|count| count % 2), Some(0));
        assert_eq!(plan(&PROBLEM, Target::SpectralDelta(0.6))[0].feature_count, None);
        for choice in plan(&PROBLEM, Target::Rate(WORST_CASE)) {
            assert_eq!(choice.form == Form::Rate, choice.id.starts_with("rudi_rosasco"));
        }
    }
}
