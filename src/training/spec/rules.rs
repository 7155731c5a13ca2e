//! The rules a spec chooses from, and what the guarantees are computed for.

use super::fields::Fields;
use crate::features::KernelShape;
use crate::theory::SMALLEST_DELTA;
use serde_json::{Value, json};

/// A rule that a spec gives as a word, or as a number above 0.
trait WordOrNumber: Copy + PartialEq + 'static {
    /// Every rule that has a word; the first is the default.
    const WORDS: &'static [(&'static str, Self)];

    fn from_number(number: f64) -> Self;

    /// The number of a rule that is one.
    fn number(self) -> Option<f64>;

    fn read(fields: &Fields, name: &str) -> Self {
        let fixed = |value: f64| (value > 0.0 && value.is_finite()).then(|| Self::from_number(value));
        fields.choice_or_number(name, Self::WORDS[0].1, Self::WORDS, fixed, "a number above 0")
    }

    fn write(self) -> Value {
        let word = Self::WORDS.iter().find(|(_, rule)| *rule == self).map(|(word, _)| *word);
        self.number().map_or_else(|| json!(word), |number| json!(number))
    }
}

/// How λ is chosen. λ is per sample everywhere: (1/n)Σ(yᵢ−f(xᵢ))² + λ‖w‖².
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LambdaRule {
    /// By leave-one-out error over a grid.
    Search,
    /// 1/√n, n the training rows.
    InverseSqrtN,
    /// The smallest λ that any bound certifies.
    Certified,
    /// Given.
    Fixed(f64),
}

impl WordOrNumber for LambdaRule {
    const WORDS: &'static [(&'static str, Self)] =
        &[("search", Self::Search), ("inverse_sqrt_n", Self::InverseSqrtN), ("certified", Self::Certified)];

    fn from_number(number: f64) -> Self {
        Self::Fixed(number)
    }

    fn number(self) -> Option<f64> {
        if let Self::Fixed(number) = self { Some(number) } else { None }
    }
}

impl LambdaRule {
    pub(crate) fn check(spec: &Fields) -> Self {
        Self::read(spec, "lambda")
    }

    pub(crate) fn to_json(self) -> Value {
        self.write()
    }
}

/// How the bandwidth is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BandwidthRule {
    /// The mean distance between training rows.
    MeanDistance,
    /// The median distance between training rows.
    Median,
    /// By leave-one-out error, jointly with λ.
    Search,
    /// By leave-one-out error, from a list of bandwidths that is fixed in advance.
    Grid,
    /// Given.
    Fixed(f64),
}

impl WordOrNumber for BandwidthRule {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("mean_distance", Self::MeanDistance),
        ("median", Self::Median),
        ("search", Self::Search),
        ("grid", Self::Grid),
    ];

    fn from_number(number: f64) -> Self {
        Self::Fixed(number)
    }

    fn number(self) -> Option<f64> {
        if let Self::Fixed(number) = self { Some(number) } else { None }
    }
}

impl BandwidthRule {
    /// Whether the targets have a part in it.
    pub(crate) fn is_searched(self) -> bool {
        matches!(self, Self::Search | Self::Grid)
    }

    /// With a learned metric, which changes distances in every round, it is searched for unless it is a number.
    pub(crate) fn check(kernel: &Fields, metric: MetricRule) -> Self {
        if metric != MetricRule::None && !kernel.has("bandwidth") {
            return Self::Search;
        }
        let rule = Self::read(kernel, "bandwidth");
        if metric != MetricRule::None && !matches!(rule, Self::Search | Self::Fixed(_)) {
            let detail = "a learned metric changes distances in every round; use search or a number";
            kernel.problem("bandwidth", detail.into());
        }
        rule
    }

    pub(crate) fn to_json(self) -> Value {
        self.write()
    }
}

/// Which metric is learned, M in k(M^½x, M^½x').
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricRule {
    /// M = I.
    None,
    /// A relevance for each input.
    Diagonal,
    /// Directions too.
    Full,
    /// The one of these with the smallest leave-one-out error.
    Search,
}

impl MetricRule {
    pub(crate) const ALL: [(&'static str, Self); 4] =
        [("none", Self::None), ("diagonal", Self::Diagonal), ("full", Self::Full), ("search", Self::Search)];

    /// Why a kernel cannot have this metric, if it cannot.
    pub(crate) fn refusal(self, kernel: KernelShape) -> Option<String> {
        let products = matches!(kernel, KernelShape::Laplace | KernelShape::Cauchy);
        match self {
            Self::Diagonal | Self::Full | Self::Search if !kernel.has_bandwidth() => Some(format!(
                "the {} kernel does not depend on distances, so it has no metric; remove it, or use gaussian, matern, \
                 laplace or cauchy",
                kernel.name()
            )),
            Self::Full if products => Some(format!(
                "the {} kernel is a product over the inputs, so its metric has no directions; use diagonal",
                kernel.name()
            )),
            Self::None | Self::Diagonal | Self::Full | Self::Search => None,
        }
    }

    pub(crate) fn name(self) -> Option<&'static str> {
        Self::ALL.iter().find(|(_, rule)| *rule == self).map(|(name, _)| *name)
    }
}

/// How classes count against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassWeight {
    /// In proportion to their rows.
    None,
    /// All the same.
    Balanced,
}

impl ClassWeight {
    /// All of them with their names in a spec.
    pub(crate) const ALL: [(&'static str, Self); 2] = [("none", Self::None), ("balanced", Self::Balanced)];
}

/// What intervals are measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalRule {
    /// The same width everywhere.
    Constant,
    /// Units of the predictive spread: wider where less is known.
    Scaled,
}

impl IntervalRule {
    pub(crate) fn check(spec: &Fields, spread: bool) -> Self {
        let rules = [("constant", Self::Constant), ("scaled", Self::Scaled)];
        let rule = spec.choice("intervals", Self::Constant, &rules);
        if rule == Self::Scaled && !spread {
            spec.problem("intervals", "scaled intervals use the predictive spread; set spread to true".into());
        }
        rule
    }
}

/// What the guarantees are computed for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuaranteeSpec {
    /// δ.
    pub delta: f64,
    /// Up to this many training rows the exact kernel system is solved, and the kernel's effective dimension
    /// measured.
    pub exact_rows: usize,
}

const DEFAULT_DELTA: f64 = 0.05;
/// The exact solve costs some tens of n² operations: a second or so by default.
const DEFAULT_EXACT_ROWS: u64 = 5_000;
/// Beyond so many rows an exact solve takes hours.
pub const LARGEST_EXACT_ROWS: u64 = 200_000;

/// δ of an object that may have one.
pub(crate) fn check_delta(fields: &Fields) -> f64 {
    let expected = format!("a number from {SMALLEST_DELTA:e} to below 1");
    fields.number("delta", DEFAULT_DELTA, |delta| (SMALLEST_DELTA..1.0).contains(&delta), &expected)
}

impl GuaranteeSpec {
    /// Their names in a spec.
    pub(crate) const FIELDS: [&'static str; 2] = ["delta", "exact_rows"];

    pub(crate) fn check(guarantees: &Fields) -> Self {
        Self {
            delta: check_delta(guarantees),
            exact_rows: guarantees.integer(
                "exact_rows",
                DEFAULT_EXACT_ROWS,
                |rows| rows <= LARGEST_EXACT_ROWS,
                &format!("a whole number up to {LARGEST_EXACT_ROWS}; 0 skips the exact solve"),
            ) as usize,
        }
    }

    pub(crate) fn to_json(self) -> Value {
        json!({"delta": self.delta, "exact_rows": self.exact_rows})
    }
}
