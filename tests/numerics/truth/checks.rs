//! What each statement says about a model, compared with what is true of it.

use super::cases::{Case, Trained};
use super::oracle::{Oracle, mean_square};
use super::tables::Table;
use bochner::model::Predictor;
use bochner::theory::ours::certificate_scaled::BAR_SHARE;
use bochner::theory::ours::conformal::conformal_quantile;
use bochner::theory::{Guarantee, RowAccess, SamplingKind, Status, guarantees};
use bochner::training::TrainError;
use ndarray::{Array2, Axis};
use std::collections::BTreeMap;
use std::fmt;

pub(crate) const DELTA: f64 = 0.05;
pub(crate) const SHARE: f64 = 0.95;

/// Draws that a mean over features is taken of.
const REDRAWS: u64 = 12;

/// Standard errors that a measured mean may be above a bound by chance.
const ERRORS: f64 = 3.0;

/// What was found about one id.
#[derive(Default)]
struct Entry {
    /// Models of which it was checked.
    checked: usize,
    /// Of them, those whose event failed, where the statement is about an event of probability 1 − δ.
    failed: usize,
    /// The largest of measured value ÷ bound.
    tightest: f64,
    vacuous: usize,
}

/// All findings.
#[derive(Default)]
pub(crate) struct Ledger {
    entries: BTreeMap<&'static str, Entry>,
    /// The share of new rows that each model's intervals cover.
    coverages: Vec<f64>,
    /// The share of new rows whose label set contains their label, for each classifier.
    label_coverages: Vec<f64>,
    false_statements: Vec<String>,
    models: usize,
    classifiers: usize,
    applying: usize,
    refused: usize,
    unsolvable: usize,
}

impl Ledger {
    pub(crate) fn refuse(&mut self, name: &str, refusal: &TrainError) {
        self.refused += 1;
        if !matches!(refusal, TrainError::Data(_)) {
            self.false_statements.push(format!("{name}: {refusal}"));
        }
    }

    pub(crate) fn count_classifier(&mut self) {
        self.classifiers += 1;
    }

    /// A statement that applies.
    pub(crate) fn count(&mut self, guarantee: &Guarantee) {
        self.applying += 1;
        self.entries.entry(guarantee.id).or_default().vacuous += usize::from(guarantee.status == Status::Vacuous);
    }

    /// A statement that is true or false, whatever the draw.
    pub(crate) fn check(&mut self, id: &'static str, is_true: bool, what: impl Fn() -> String) {
        self.entries.entry(id).or_default().checked += 1;
        if !is_true {
            self.false_statements.push(what());
        }
    }

    /// The share of new rows that the label sets of a classifier cover.
    pub(crate) fn add_label_coverage(&mut self, share: f64) {
        self.label_coverages.push(share);
        self.entries.entry("conformal").or_default().checked += 1;
    }

    pub(crate) fn checks_of(&self, id: &str) -> usize {
        self.entries.get(id).map_or(0, |entry| entry.checked)
    }

    /// Everything that is false: statements, and events that fail too often.
    pub(crate) fn violations(&self) -> Vec<String> {
        let mut found = self.false_statements.clone();
        for (id, entry) in &self.entries {
            let (failed, trials) = (entry.failed as f64, entry.checked as f64);
            let allowed = DELTA * trials + ERRORS * (DELTA * (1.0 - DELTA) * trials).sqrt();
            if failed > allowed {
                found.push(format!("{id} failed {failed} times in {trials}, more than {allowed:.1}"));
            }
        }
        for (what, shares) in [("conformal", &self.coverages), ("conformal label sets", &self.label_coverages)] {
            let (mean, error) = mean_and_error(shares);
            if mean < 1.0 - DELTA - ERRORS * error {
                found.push(format!("{what}: {mean} of new rows covered on average, within {error}"));
            }
        }
        found
    }

    pub(crate) fn examine(&mut self, case: &Case, table: &Table, trained: Trained) {
        self.models += 1;
        let Some(oracle) = Oracle::new(&trained, table, case.target_count()) else {
            self.unsolvable += 1;
            return;
        };
        let name = format!("{}: {}", table.name, case.describe());
        let around = trained.model.circumstances(RowAccess::Gone);
        let evidence = trained.model.evidence.clone().expect("every training has evidence");
        let found = guarantees(&evidence, DELTA, SHARE, &around).guarantees;
        let predictor = Predictor::new(trained.model);
        self.facts(&name, &oracle, &predictor);
        let applies = |guarantee: &&Guarantee| guarantee.status != Status::NotApplicable;
        let redraws = found.iter().filter(applies).any(|found| is_about_draws(found.id)).then(|| {
            let (map, sampling) = (&predictor.model().map, case.checked().sampling);
            let draws: Option<Vec<(f64, f64)>> =
                (0..REDRAWS).map(|seed| oracle.redraw(map, sampling, 1_000 + seed)).collect();
            draws
        });
        for guarantee in found.iter().filter(applies) {
            self.count(guarantee);
            let Some(bound) = guarantee.value else { continue };
            let context = Context { name: &name, guarantee, bound, oracle: &oracle, predictor: &predictor };
            if is_about_draws(guarantee.id) {
                if let Some(Some(draws)) = &redraws {
                    self.about_draws(&context, draws);
                }
                continue;
            }
            match guarantee.id {
                "wang.lemma3" => self.event(&context, oracle.moment_distance(&predictor.model().map)),
                "avron.theorem7" | "avron.lemma6" => {
                    if let Some(delta) = oracle.spectral_distance(&predictor.model().map) {
                        self.event(&context, delta);
                    }
                }
                "bochner.certificate_mean" => {
                    let squares = squares(&oracle.clipped_differences(&predictor));
                    let (mean, error) = mean_and_error(&squares);
                    self.event(&context, mean - ERRORS * error);
                }
                "bochner.certificate_tolerance" => self.tolerance(&context),
                "bochner.certificate_scaled" => self.certified_bars(&context),
                "conformal" => self.coverage(&context, table, case.target_count()),
                // Rates, requirements, terms and estimates bound nothing that can be measured.
                _ => {}
            }
        }
        // A model of the service is never the exact method here.
        assert_ne!(evidence.sampling, SamplingKind::NoFeatures);
    }

    /// Figures that the report calls measured.
    fn facts(&mut self, name: &str, oracle: &Oracle, predictor: &Predictor) {
        let model = predictor.model();
        let near = |stated: f64, truth: f64, slack: f64| (stated - truth).abs() <= 0.01 * truth.abs() + slack;
        if let (Some(stated), Some(truth)) = (model.measured.exact_krr_error, oracle.validation_distance(predictor)) {
            let slack = oracle.slack
                + model.evidence.as_ref().and_then(|e| e.certificate.as_ref()).map_or(0.0, |c| c.solver_slack);
            let slack = slack * (2.0 * truth.sqrt() + slack);
            if !near(stated, truth, slack + 1e-12) {
                self.false_statements.push(format!("{name}: measured distance {stated:e}, true {truth:e}"));
            }
        }
        let evidence = model.evidence.as_ref();
        if let Some(exact) = evidence.and_then(|evidence| evidence.exact.as_ref()) {
            let truth = oracle.quadratic_form();
            if !near(exact.quadratic_form, truth, 1e-9 * truth) {
                self.false_statements.push(format!("{name}: Q is {:e}, true {truth:e}", exact.quadratic_form));
            }
        }
    }

    /// A bound on the mean over feature draws, or for the lower bound its other side.
    fn about_draws(&mut self, context: &Context, draws: &[(f64, f64)]) {
        let Context { name, guarantee, bound, .. } = *context;
        let of_new: Vec<f64> = draws.iter().map(|(new, _)| *new).collect();
        let of_fitted: Vec<f64> = draws.iter().map(|(_, fitted)| *fitted).collect();
        let lower = guarantee.id == "wang.theorem2";
        let (mean, error) = mean_and_error(if lower { &of_fitted } else { &of_new });
        let holds = if lower { bound <= mean + ERRORS * error } else { mean - ERRORS * error <= bound };
        let ratio = if lower { bound / mean } else { mean / bound };
        let entry = self.entries.entry(guarantee.id).or_default();
        entry.checked += 1;
        entry.tightest = entry.tightest.max(ratio);
        if !holds {
            self.false_statements.push(format!("{name}: {}: bound {bound:e}, mean over draws {mean:e}", guarantee.id));
        }
        let Some(for_this) = guarantee.inputs.get("bound_for_this_draw") else { return };
        let own = mean_square(&context.oracle.new_differences(context.predictor));
        let this = self.entries.entry("bound for this draw").or_default();
        this.checked += 1;
        this.failed += usize::from(own > *for_this);
        this.tightest = this.tightest.max(own / for_this);
    }

    /// A bound that holds with probability 1 − δ.
    fn event(&mut self, context: &Context, measured: f64) {
        let entry = self.entries.entry(context.guarantee.id).or_default();
        entry.checked += 1;
        entry.failed += usize::from(measured > context.bound);
        entry.tightest = entry.tightest.max(measured / context.bound);
    }

    /// The share of new rows within the bound is at least p, with probability 1 − δ.
    fn tolerance(&mut self, context: &Context) {
        let squares = squares(&context.oracle.new_differences(context.predictor));
        let within: Vec<f64> = squares.iter().map(|square| f64::from(square.sqrt() <= context.bound)).collect();
        let (share, error) = mean_and_error(&within);
        let entry = self.entries.entry(context.guarantee.id).or_default();
        entry.checked += 1;
        entry.failed += usize::from(share + ERRORS * error < SHARE);
        entry.tightest = entry.tightest.max((1.0 - share) / (1.0 - SHARE));
    }

    /// The share of new rows whose predictions are within their certified error bars, all targets at once, is at least
    /// nine in ten, with probability 1 − δ.
    fn certified_bars(&mut self, context: &Context) {
        let made = context.predictor.model().certified_bars(DELTA).and_then(Result::ok);
        let bars = context.oracle.error_bars(context.predictor);
        let (Some(made), Some(bars)) = (made, bars) else { return };
        let gaps = context.oracle.new_differences(context.predictor);
        let rows = gaps.rows().into_iter().zip(bars.rows());
        let within: Vec<f64> = rows
            .map(|(gaps, bars)| {
                let bars = made.bars(&bars.to_vec());
                f64::from(gaps.iter().zip(&bars).all(|(gap, bar)| gap.abs() <= *bar))
            })
            .collect();
        let (share, error) = mean_and_error(&within);
        let entry = self.entries.entry(context.guarantee.id).or_default();
        entry.checked += 1;
        entry.failed += usize::from(share + ERRORS * error < BAR_SHARE);
        entry.tightest = entry.tightest.max((1.0 - share) / (1.0 - BAR_SHARE));
    }

    /// Intervals of new rows contain their targets.
    fn coverage(&mut self, context: &Context, table: &Table, target_count: usize) {
        let model = context.predictor.model();
        let Some(quantile) = model.calibration_scores().map(|scores| conformal_quantile(scores, DELTA)) else { return };
        let targets = table.targets.select(Axis(0), &super::cases::new_rows(table));
        let targets = targets.select(Axis(1), &(0..target_count).collect::<Vec<_>>());
        let gaps = context.oracle.predictions(context.predictor) - targets;
        let covered = gaps
            .rows()
            .into_iter()
            .filter(|row| row.iter().zip(&model.interval_scales).all(|(gap, scale)| gap.abs() <= quantile * scale));
        self.coverages.push(covered.count() as f64 / gaps.nrows() as f64);
        self.entries.entry("conformal").or_default().checked += 1;
    }
}

/// One statement about one model.
#[derive(Clone, Copy)]
struct Context<'a> {
    name: &'a str,
    guarantee: &'a Guarantee,
    bound: f64,
    oracle: &'a Oracle,
    predictor: &'a Predictor,
}

/// Whether a guarantee bounds a mean over feature draws.
fn is_about_draws(id: &str) -> bool {
    ["wang.theorem1", "wang.theorem1_sharp", "wang.remark1", "wang.theorem2", "bochner.theorem1_relative"].contains(&id)
}

/// The squares of each row, summed over targets.
fn squares(gaps: &Array2<f64>) -> Vec<f64> {
    gaps.rows().into_iter().map(|row| row.dot(&row)).collect()
}

/// The mean of some numbers and its standard error.
fn mean_and_error(numbers: &[f64]) -> (f64, f64) {
    let n = numbers.len().max(1) as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (if numbers.is_empty() { 1.0 } else { mean }, (variance / n).sqrt())
}

impl fmt::Display for Ledger {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { models, classifiers, applying, refused, unsolvable, .. } = self;
        writeln!(
            out,
            "{models} ridge models and {classifiers} classifiers trained, {refused} refused, {unsolvable} without a dense \
             solution; {applying} statements apply"
        )?;
        writeln!(out, "| id | checked | vacuous | event failed | largest measured/bound |\n|---|---:|---:|---:|---:|")?;
        for (id, entry) in &self.entries {
            let Entry { checked, failed, tightest, vacuous } = entry;
            writeln!(out, "| {id} | {checked} | {vacuous} | {failed} | {tightest:.3} |")?;
        }
        for (what, shares) in [("intervals", &self.coverages), ("label sets", &self.label_coverages)] {
            let (mean, error) = mean_and_error(shares);
            let (level, mean, error) = (100.0 * (1.0 - DELTA), 100.0 * mean, 100.0 * error);
            writeln!(
                out,
                "{what} at {level}% cover {mean:.1}% of new rows (± {error:.1}) over {} models",
                shares.len()
            )?;
        }
        let violations = self.violations();
        writeln!(out, "{} violations", violations.len())?;
        violations.iter().try_for_each(|violation| writeln!(out, "- {violation}"))
    }
}
