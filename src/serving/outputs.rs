//! The outputs that a request asks for.

use super::Refusal;
use crate::model::{Extras, FittedModel, Head};
use crate::theory::RowAccess;
use crate::theory::ours::certificate_scaled::CertifiedBars;
use crate::theory::ours::conformal::conformal_quantile;

/// One output of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The predicted number.
    Value,
    /// The predictive standard deviation that the model states.
    Spread,
    /// The predicted label.
    Label,
    /// The probability of every label.
    Probabilities,
    /// The decision function: one number for two labels, one per label for more.
    DecisionValues,
    /// A conformal prediction interval at level 1 − δ.
    Interval,
    /// A conformal set of labels at level 1 − δ.
    LabelSet,
    /// An estimate of the distance to the exact kernel method: the standard deviation over feature draws.
    ErrorBar,
    /// A bound on that distance for at least nine of ten new inputs, with confidence 1 − δ.
    CertifiedErrorBar,
    /// The share of each column in the difference to the prediction of a typical row.
    Contributions,
    /// Whether the inputs lie in the range of the fitted rows.
    InRange,
    /// What is unusual about the inputs of the row, in words.
    Warnings,
}

impl Output {
    /// Every output with its name.
    pub const ALL: [(&'static str, Self); 12] = [
        ("value", Self::Value),
        ("spread", Self::Spread),
        ("label", Self::Label),
        ("probabilities", Self::Probabilities),
        ("decision_values", Self::DecisionValues),
        ("interval", Self::Interval),
        ("label_set", Self::LabelSet),
        ("error_bar", Self::ErrorBar),
        ("certified_error_bar", Self::CertifiedErrorBar),
        ("contributions", Self::Contributions),
        ("in_range", Self::InRange),
        ("warnings", Self::Warnings),
    ];

    /// The name in requests and answers.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, output)| *output == self).map_or("", |(name, _)| name)
    }

    /// The output of a model when the request names none.
    pub fn plain(model: &FittedModel) -> Self {
        match model.head {
            Head::Numbers { .. } => Self::Value,
            Head::Labels(_) => Self::Label,
        }
    }

    /// The outputs that a model offers, the default one first.
    pub fn of(model: &FittedModel) -> Vec<Self> {
        let plain = Self::plain(model);
        let certified = |output: &Self| *output != Self::CertifiedErrorBar || model.has_certified_bars();
        let has = |output: &Self| *output != plain && output.refusal(model).is_none() && certified(output);
        let others = Self::ALL.into_iter().map(|(_, output)| output).filter(has);
        std::iter::once(plain).chain(others).collect()
    }

    /// Why a model does not offer this output.
    fn refusal(self, model: &FittedModel) -> Option<&'static str> {
        match (self, &model.head) {
            (
                Self::Value | Self::Spread | Self::Interval | Self::ErrorBar | Self::CertifiedErrorBar,
                Head::Labels(_),
            ) => Some("this model predicts labels: ask for label, probabilities, decision_values or label_set"),
            (Self::Label | Self::Probabilities | Self::DecisionValues | Self::LabelSet, Head::Numbers { .. }) => {
                Some("this model predicts numbers: ask for value, interval, error_bar, certified_error_bar or spread")
            }
            (Self::Interval | Self::LabelSet, _)
                if model.calibration_scores().is_none() && model.circumstances(RowAccess::Kept).sample_weights =>
            {
                Some("sample weights rule out calibration for new rows; train it without sample weights")
            }
            (Self::Interval | Self::LabelSet, _) if model.calibration_scores().is_none() => {
                Some("this model has no calibration rows; train it with a calibration_fraction above 0")
            }
            (Self::Contributions, _) if !model.has_contributions() => {
                Some("contributions need features that are waves; train it with the map pair or phase")
            }
            (Self::InRange, _) if model.ranges.is_none() => Some(NO_RANGES),
            (Self::ErrorBar | Self::CertifiedErrorBar, _) if model.is_exact() => {
                Some("this model is the exact kernel method, so it has no error from random features")
            }
            (Self::ErrorBar | Self::CertifiedErrorBar, _) if model.error_bars.is_none() => {
                Some("this model keeps no error bars; train it with \"error_bars\": true and at least two draws")
            }
            (Self::CertifiedErrorBar, _) if model.certified_bars(model.failure_probability).is_none() => Some(
                "this model has no certificate of its distance to the exact kernel method; train it with rows that are not \
                 fitted (validation_fraction above 0) on at most guarantees.exact_rows rows, or run a certify job",
            ),
            (Self::Spread, Head::Numbers { .. }) if model.spread.is_none() => {
                Some("this model keeps no spread; train it with \"spread\": true")
            }
            (Self::Probabilities, Head::Labels(labels)) if labels.slope.is_none() => {
                Some("this model was not calibrated; train it with a calibration_fraction above 0")
            }
            _ => None,
        }
    }
}

const NO_RANGES: &str = "this model is of an earlier release, which kept no ranges of its columns; train it again";

/// The outputs as a request names them, unchecked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OutputRequest {
    /// None asks for the default output.
    pub names: Option<Vec<String>>,
    /// How many of the most probable labels to list.
    pub top_k: Option<u64>,
    /// δ of intervals and label sets.
    pub delta: Option<f64>,
    /// Whether rows that deserve a warning are refused.
    pub strict: bool,
    /// Where the request names them, for the pointers of errors.
    pub place: OutputPlace,
}

/// Where a request names its outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputPlace {
    /// In members of the body.
    #[default]
    Body,
    /// In the query.
    Query,
    /// In `params`, as MLflow has it.
    Params,
    /// In `outputs` and `parameters`, as the Open Inference Protocol has it.
    Inference,
}

impl OutputRequest {
    /// Whether the request leaves the outputs to the defaults.
    pub fn is_empty(&self) -> bool {
        self.names.is_none() && self.top_k.is_none() && self.delta.is_none()
    }

    fn place(&self, member: &str, index: Option<usize>) -> String {
        match (self.place, index) {
            (OutputPlace::Query, _) => format!("?{member}"),
            (OutputPlace::Body, None) => format!("/{member}"),
            (OutputPlace::Body, Some(index)) => format!("/{member}/{index}"),
            (OutputPlace::Params, None) => format!("/params/{member}"),
            (OutputPlace::Params, Some(index)) => format!("/params/{member}/{index}"),
            (OutputPlace::Inference, None) => format!("/parameters/{member}"),
            (OutputPlace::Inference, Some(index)) => format!("/{member}/{index}/name"),
        }
    }
}

/// The outputs of a request, checked against the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Outputs {
    /// None asks for the default output.
    pub(super) named: Option<Vec<Output>>,
    /// How many of the most probable labels to list.
    pub(super) top_k: Option<usize>,
    /// δ of intervals and label sets.
    pub(super) delta: f64,
    /// The conformal quantile at δ, infinite if there are too few calibration rows for it.
    pub(super) quantile: f64,
    /// Whether the quantile is in units of each row's spread.
    pub(super) scaled: bool,
    /// What certified error bars are made with.
    pub(super) certified: Option<CertifiedBars>,
    /// Whether rows with flags are refused.
    strict: bool,
}

/// About as many numbers as the text of a warning takes.
const NUMBERS_PER_WARNING: usize = 8;

impl Outputs {
    /// About how many numbers a row of the answer has; never fewer than are computed for it.
    fn numbers_per_row(&self, model: &FittedModel) -> usize {
        let shares = if self.wants(Output::Contributions) { model.inputs.encoding.columns.len() } else { 0 };
        model.intercepts.len() * (shares + self.named.as_ref().map_or(1, |named| named.len().max(1)))
    }

    /// About how many numbers an answer has whose rows have so many flags.
    pub fn numbers(&self, rows: usize, flags: usize, model: &FittedModel) -> usize {
        let flags = if self.wants(Output::Warnings) { flags } else { 0 };
        rows.saturating_mul(self.numbers_per_row(model)).saturating_add(flags.saturating_mul(NUMBERS_PER_WARNING))
    }

    /// Refuses an answer of more than `limit` numbers before it is computed.
    pub fn check_length(&self, rows: usize, flags: usize, model: &FittedModel, limit: usize) -> Result<(), Refusal> {
        let numbers = self.numbers(rows, flags, model);
        if numbers <= limit {
            return Ok(());
        }
        let detail =
            format!("the answer would have {numbers} numbers; the limit is {limit}: send fewer rows, or a table");
        Err(Refusal::invalid("", detail))
    }

    /// Checks a request against a model.
    pub fn check(request: &OutputRequest, model: &FittedModel) -> Result<Self, Refusal> {
        let top_k = request.top_k.map(|top_k| checked_top_k(request, top_k, model)).transpose()?;
        let delta = request.delta.unwrap_or(model.failure_probability);
        if !(delta > 0.0 && delta < 1.0) {
            return Err(Refusal::invalid(request.place("delta", None), "must be a number between 0 and 1"));
        }
        if request.strict && model.ranges.is_none() {
            return Err(Refusal::invalid(request.place("strict", None), NO_RANGES));
        }
        let mut named = None;
        for (index, name) in request.names.iter().flatten().enumerate() {
            let place = || request.place("outputs", Some(index));
            let known = Output::ALL.iter().find(|(known, _)| name == known);
            let (_, output) = known.ok_or_else(|| {
                let all = Output::ALL.map(|(name, _)| name).join(", ");
                Refusal::invalid(place(), format!("must be one of {all}"))
            })?;
            if let Some(reason) = output.refusal(model) {
                return Err(Refusal::invalid(place(), reason));
            }
            if let (Output::CertifiedErrorBar, Some(Err(needed))) = (output, model.certified_bars(delta)) {
                let detail = format!(
                    "at this delta certified error bars need {needed} rows that were not fitted, and fewer were compared; use \
                     a larger delta, or hold out more rows"
                );
                return Err(Refusal::invalid(place(), detail));
            }
            let named = named.get_or_insert_with(Vec::new);
            if named.contains(output) {
                return Err(Refusal::invalid(place(), format!("'{name}' is named twice")));
            }
            named.push(*output);
        }
        Ok(Self { strict: request.strict, ..Self::of_model(named, top_k, delta, model) })
    }

    /// Outputs that a model offers, unchecked, at its own δ.
    pub fn known(named: Vec<Output>, model: &FittedModel) -> Self {
        Self::of_model(Some(named), None, model.failure_probability, model)
    }

    fn of_model(named: Option<Vec<Output>>, top_k: Option<usize>, delta: f64, model: &FittedModel) -> Self {
        let scaled = model.scales_intervals();
        let mut outputs = Self { named, top_k, delta, quantile: f64::INFINITY, scaled, certified: None, strict: false };
        if outputs.wants(Output::Interval) || outputs.wants(Output::LabelSet) {
            let quantile = model.calibration_scores().map(|scores| conformal_quantile(scores, delta));
            outputs.quantile = quantile.unwrap_or(f64::INFINITY);
        }
        if outputs.wants(Output::CertifiedErrorBar) {
            outputs.certified = model.certified_bars(delta).and_then(Result::ok);
        }
        outputs
    }

    /// Whether there are enough calibration rows for finite intervals at δ.
    pub fn has_intervals(&self) -> bool {
        self.quantile.is_finite()
    }

    /// What the predictor must compute beside the values.
    pub fn extras(&self) -> Extras {
        let scaled = self.scaled && self.wants(Output::Interval);
        let bars = self.wants(Output::ErrorBar) || self.wants(Output::CertifiedErrorBar);
        Extras {
            spreads: scaled || self.wants(Output::Spread),
            error_bars: bars,
            contributions: self.wants(Output::Contributions),
        }
    }

    /// Whether rows with flags are refused.
    pub(super) fn is_strict(&self) -> bool {
        self.strict
    }

    /// Whether the flags of rows must be found.
    pub(super) fn need_flags(&self) -> bool {
        let shows = |output: &Output| match output {
            Output::InRange | Output::Warnings | Output::Interval | Output::LabelSet => true,
            Output::Value
            | Output::Spread
            | Output::Label
            | Output::Probabilities
            | Output::DecisionValues
            | Output::ErrorBar
            | Output::CertifiedErrorBar
            | Output::Contributions => false,
        };
        self.strict || self.named.iter().flatten().any(shows)
    }

    fn wants(&self, output: Output) -> bool {
        self.named.as_ref().is_some_and(|named| named.contains(&output))
    }
}

fn checked_top_k(request: &OutputRequest, top_k: u64, model: &FittedModel) -> Result<usize, Refusal> {
    let place = || request.place("top_k", None);
    let Some(labels) = model.head.labels() else {
        let detail = "top_k needs a model that predicts labels; this one predicts numbers";
        return Err(Refusal::invalid(place(), detail));
    };
    let most = labels.labels.len();
    let count = usize::try_from(top_k).ok().filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| Refusal::invalid(place(), format!("must be a whole number from 1 to {most}")))
}
