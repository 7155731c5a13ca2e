//! What a learned metric is, and how it came about.

use serde_json::{Value, json};

/// The form of M in k(M^½x, M^½x').
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// M = I: all inputs count the same.
    None,
    /// A relevance for each input.
    Diagonal,
    /// Directions too.
    Full,
}

impl MetricKind {
    /// As in specs and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Diagonal => "diagonal",
            Self::Full => "full",
        }
    }
}

/// The rounds of learning a metric, and the one that was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricReport {
    /// The form that was kept.
    pub chosen: MetricKind,
    /// (tr M)²/tr M²: d where all inputs count the same, 1 where one direction counts alone.
    pub effective_rank: f64,
    /// The share of each column in tr M.
    pub relevances: Vec<f64>,
    /// Every metric that was tried; the first is M = I.
    pub rounds: Vec<MetricRound>,
    /// Rows of each fit.
    pub rows: usize,
    /// Rows in the leave-one-out errors.
    pub loo_rows: usize,
    /// By how much the metric of the smallest error lowers the mean squared leave-one-out residual of M = I.
    pub gain: f64,
    /// The standard error of the gain, over rows.
    pub gain_standard_error: f64,
}

/// One metric that was tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricRound {
    /// The form of M.
    pub kind: MetricKind,
    /// 0 for M = I.
    pub round: usize,
    /// σ.
    pub bandwidth: f64,
    /// λ.
    pub lambda: f64,
    /// Mean squared leave-one-out residual, in squared units of the target; of several targets, in units of their variances;
    /// of labels, coded as ±1.
    pub loo_mse: f64,
}

impl MetricReport {
    /// As reports show it; `columns` are the names of the model's columns.
    pub fn to_json<'a>(&self, columns: impl Iterator<Item = &'a str>) -> Value {
        let relevance = |(column, share): (&str, &f64)| json!({"column": column, "share": share});
        let round = |round: &MetricRound| {
            json!({
                "metric": round.kind.name(),
                "round": round.round,
                "bandwidth": round.bandwidth,
                "lambda": round.lambda,
                "loo_mse": round.loo_mse,
            })
        };
        json!({
            "chosen": self.chosen.name(),
            "effective_rank": self.effective_rank,
            "relevances": columns.zip(&self.relevances).map(relevance).collect::<Vec<_>>(),
            "rounds": self.rounds.iter().map(round).collect::<Vec<_>>(),
            "rows": self.rows,
            "loo_rows": self.loo_rows,
            "gain": self.gain,
            "gain_standard_error": self.gain_standard_error,
        })
    }
}
