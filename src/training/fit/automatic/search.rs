//! Which candidates are tried, one thing changed after the other, and which of them is kept.

use super::budget::{Budget, FINALS, Finals, FitSize};
use super::trials::{Point, Trials, Tried};
use crate::dataset::{ColumnMoments, Encoding, Part, ScalingRule};
use crate::features::KernelShape;
use crate::model::{MetricKind, MetricReport, MetricRound, SearchFinals, SearchReport, TargetCoding};
use crate::training::TrainSpec;
use crate::training::fit::kernel_choice::KernelChoice;
use crate::training::fit::metric::{Metric, RoundRows, STANDARD_ERRORS};
use crate::training::rows::run::Run;
use crate::training::spec::effort::SearchSize;
use crate::training::spec::rules::MetricRule;
use crate::training::stage::TrainError;
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::sync::Arc;

/// Steps of the bandwidth: first, around candidates that change something else, and last.
const COARSE: f64 = 2.0;
const FINE: f64 = SQRT_2;
const FINEST: f64 = 1.19;

/// The forms of metric, from the simplest.
const KINDS: [MetricKind; 3] = [MetricKind::None, MetricKind::Diagonal, MetricKind::Full];

/// Of the stage: where the final begins, and where the search ends.
const FINAL: f64 = 0.5;
const END: f64 = 0.8;

/// Chooses kernel, metric, bandwidth and scaling for random features, starting from what effort fast would take.
pub(crate) fn search_kernel(
    run: &Run,
    (encoding, moments): (&Encoding, &[ColumnMoments]),
    coding: &TargetCoding,
    spec: &TrainSpec,
    size: SearchSize,
) -> Result<KernelChoice, TrainError> {
    let (rows, inputs) = (run.rows.count(Part::Training), encoding.input_dim());
    let by_rows = matches!(coding, TargetCoding::Numbers { .. }) && run.has_fewer_rows_than(spec.feature_count);
    let budget = FitSize { rows, inputs, features: spec.feature_count, by_rows }.budget(size);
    let on_features = |features: usize| RoundRows::of_search(run, coding, spec, (size, features));
    let columns = (encoding, moments);
    let trials = Trials::new(run, on_features(budget.features), columns, budget.candidates, (0.0, FINAL));
    let mut search = Search { trials, spec, size };
    search.try_all()?;
    let rows = budget.finals.map(|finals| match finals {
        Finals::Features(features) => on_features(features),
        Finals::Rows { rows, features } => RoundRows::of_many_features(run, coding, spec, (rows, features)),
        Finals::Kernel => RoundRows::of_kernels(run, coding, spec, rows),
    });
    let finals = rows.map(|rows| search.compare_again(Trials::new(run, rows, columns, FINALS, (FINAL, END))));
    Ok(search.finish(finals.transpose()?.as_ref(), budget))
}

/// The same for the exact kernel method: candidates are fitted without features, on few rows first.
pub(crate) fn search_exact_kernel(
    run: &Run,
    columns: (&Encoding, &[ColumnMoments]),
    coding: &TargetCoding,
    spec: &TrainSpec,
    size: SearchSize,
) -> Result<KernelChoice, TrainError> {
    let [first, last] = size.exact_rows;
    let more = run.rows.count(Part::Training) > first;
    let rows = |count: usize| RoundRows::of_kernels(run, coding, spec, count);
    let trials = Trials::new(run, rows(first), columns, size.candidates, (0.0, if more { FINAL } else { END }));
    let mut search = Search { trials, spec, size };
    search.try_all()?;
    let finals = Trials::new(run, rows(last), columns, FINALS, (FINAL, END));
    let finals = if more { Some(search.compare_again(finals)?) } else { None };
    let budget = Budget { features: 0, candidates: size.candidates, finals: more.then_some(Finals::Kernel) };
    Ok(search.finish(finals.as_ref(), budget))
}

/// What was tried, and what the spec allows.
struct Search<'a> {
    trials: Trials<'a>,
    spec: &'a TrainSpec,
    size: SearchSize,
}

impl<'a> Search<'a> {
    fn try_all(&mut self) -> Result<(), TrainError> {
        self.try_kernels()?;
        self.try_scalings()?;
        self.try_metrics()?;
        if let Some(best) = self.trials.best(|_| true) {
            self.trials.descend(best, FINEST)?;
        }
        Ok(())
    }

    /// The scalings to try.
    fn scalings(&self) -> Vec<ScalingRule> {
        self.spec.scaling.map_or_else(|| vec![ScalingRule::Standard, ScalingRule::Minmax], |rule| vec![rule])
    }

    /// Every kernel with bandwidths around the best of the first one, in units of the mean distance.
    fn try_kernels(&mut self) -> Result<(), TrainError> {
        let scaling = self.scalings()[0];
        let mut ratio = 1.0;
        for shape in self.spec.searched_kernels() {
            let distance = self.trials.mean_distance(shape, scaling)?;
            let bandwidth = ratio * distance;
            if self.trials.tried.is_empty() && !(bandwidth > 0.0 && bandwidth.is_finite()) {
                return Err(TrainError::Data(format!(
                    "the mean distance between rows is {bandwidth}: most rows are equal; set kernel.bandwidth to a number"
                )));
            }
            let metric = Arc::new(Metric::Identity);
            let point = Point { shape, scaling, metric, round: 0, bandwidth };
            let Some((first, _)) = self.trials.measure(point)? else { break };
            let best = self.trials.descend(first, COARSE)?;
            if first == 0 {
                ratio = self.trials.tried[best].point.bandwidth / distance;
            }
        }
        Ok(())
    }

    /// The best candidate with another scaling.
    fn try_scalings(&mut self) -> Result<(), TrainError> {
        let Some(best) = self.trials.best(|_| true) else { return Ok(()) };
        for scaling in self.scalings().into_iter().skip(1) {
            let point = self.trials.tried[best].point.clone();
            let known = self.trials.mean_distance(point.shape, point.scaling)?;
            let distance = self.trials.mean_distance(point.shape, scaling)?;
            let point = Point { scaling, bandwidth: point.bandwidth * distance / known, ..point };
            let Some((found, _)) = self.trials.measure(point)? else { break };
            if self.trials.tried[found].error < self.trials.tried[best].error {
                self.trials.descend(found, FINE)?;
            }
        }
        Ok(())
    }

    /// Metrics learned from the best kernel that can have all forms of them, then the other kernels with the best metric.
    fn try_metrics(&mut self) -> Result<(), TrainError> {
        let smooth = |tried: &Tried| MetricRule::Full.refusal(tried.point.shape).is_none();
        let Some(base) = self.trials.best(smooth).or_else(|| self.trials.best(|_| true)) else { return Ok(()) };
        let shape = self.trials.tried[base].point.shape;
        for kind in self.kinds(base) {
            if let Some(best) = self.learn(base, kind)? {
                self.trials.descend(best, FINE)?;
            }
        }
        let Some(best) = self.trials.best(|tried| tried.kind() != MetricKind::None) else { return Ok(()) };
        for other in self.spec.searched_kernels().into_iter().filter(|other| *other != shape) {
            self.try_kernel_with_metric(best, other)?;
        }
        Ok(())
    }

    /// The forms of metric to try on the inputs of a candidate: with one input a metric is a bandwidth.
    fn kinds(&self, base: usize) -> Vec<MetricKind> {
        let point = &self.trials.tried[base].point;
        let scaled = self.trials.scaled(point.scaling);
        let varying = scaled.input_dim() - scaled.scaling.constant_count();
        let full = self.spec.tries_full_metric(scaled.input_dim());
        let kinds = self.spec.metric.kinds(point.shape).iter().copied();
        kinds.filter(|kind| varying > 1 && (full || *kind != MetricKind::Full)).collect()
    }

    /// Rounds of one form of metric from a candidate without one; the best of them.
    fn learn(&mut self, base: usize, kind: MetricKind) -> Result<Option<usize>, TrainError> {
        let mut last = self.trials.tried[base].point.clone();
        let scaled = self.trials.scaled(last.scaling);
        let mut fit = self.trials.fit(&last)?;
        self.trials.spend(1)?;
        let mut best: Option<usize> = None;
        for round in 1..=self.size.rounds {
            let inputs = last.metric.applied_to(&scaled);
            let products = self.trials.rows.gradient_products((&inputs, &last.metric), &fit, kind)?;
            let metric = Arc::new(Metric::of(products, &scaled)?);
            let before = fit.residuals.error();
            let mut found = None;
            for factor in [1.0, FRAC_1_SQRT_2] {
                let bandwidth = factor * last.bandwidth;
                let point = Point { metric: Arc::clone(&metric), round, bandwidth, ..last.clone() };
                let Some((index, next)) = self.trials.measure(point)? else { break };
                let error = next.residuals.error();
                if found.as_ref().is_none_or(|(_, smallest, _)| error < *smallest) {
                    found = Some((index, error, next));
                }
            }
            let Some((index, error, next)) = found else { break };
            if best.is_none_or(|best| error < self.trials.tried[best].error) {
                best = Some(index);
            }
            if round > 1 && error >= before {
                break;
            }
            (last, fit) = (self.trials.tried[index].point.clone(), next);
        }
        Ok(best)
    }

    /// Another kernel with the metric of a candidate.
    fn try_kernel_with_metric(&mut self, best: usize, shape: KernelShape) -> Result<(), TrainError> {
        let point = self.trials.tried[best].point.clone();
        if point.metric.kind() == MetricKind::Full && MetricRule::Full.refusal(shape).is_some() {
            return Ok(());
        }
        let known = self.trials.mean_distance(point.shape, point.scaling)?;
        let distance = self.trials.mean_distance(shape, point.scaling)?;
        let point = Point { shape, bandwidth: point.bandwidth * distance / known, ..point };
        if let Some((found, _)) = self.trials.measure(point)? {
            self.trials.descend(found, FINE)?;
        }
        Ok(())
    }

    /// The first candidate, the best without a metric and the best of each form of it, on more features: few of them favour
    /// smooth kernels and wide bandwidths. Without features, on more rows: few of them favour metrics that fit them alone.
    /// Each starts from the λ that was best before.
    fn compare_again(&self, mut finals: Trials<'a>) -> Result<Trials<'a>, TrainError> {
        let tried = &self.trials.tried;
        let mut finalists = vec![0];
        finalists.extend(KINDS.iter().filter_map(|kind| self.trials.best(|tried| tried.kind() == *kind)));
        finalists.dedup();
        for index in finalists {
            finals.measure_near(tried[index].point.clone(), Some(tried[index].lambda))?;
        }
        if !finals.tried.is_empty() {
            finals.descend(kept(&finals), COARSE)?;
        }
        Ok(finals)
    }

    fn finish(self, finals: Option<&Trials>, budget: Budget) -> KernelChoice {
        let (trials, coarse) = (finals.unwrap_or(&self.trials), finals.map(|_| &self.trials));
        let index = kept(trials);
        let kept = &trials.tried[index];
        let (gain, gain_standard_error) = kept.residuals.gain_over(&trials.tried[0].residuals);
        let all = || coarse.into_iter().chain([trials]).flat_map(|trials| &trials.tried);
        let before = coarse.map_or(0, |coarse| coarse.tried.len());
        let report = SearchReport {
            effort: self.spec.effort.name().to_owned(),
            rows: trials.rows.row_count(),
            loo_rows: kept.residuals.squares.len(),
            features: budget.features,
            chosen: before + index,
            gain,
            gain_standard_error,
            candidates: all().map(Tried::describe).collect(),
            finals: budget.finals.map(|finals| SearchFinals { first: before, features: finals.features() }),
        };
        let scaled = trials.scaled(kept.point.scaling);
        KernelChoice {
            scaling: kept.point.scaling,
            inputs: kept.point.metric.applied_to(&scaled),
            kernel: kept.point.shape.with_bandwidth(kept.point.bandwidth),
            metric: (self.spec.metric != MetricRule::None).then(|| self.metric_report(kept)),
            unweighted: scaled.scaling,
            search: Some((report, all().map(|tried| tried.seconds).collect())),
        }
    }

    /// The candidates with a metric next to the best without.
    fn metric_report(&self, kept: &Tried) -> MetricReport {
        let trials = &self.trials;
        let without = trials.best(|tried| tried.kind() == MetricKind::None).map_or(kept, |best| &trials.tried[best]);
        let nearest = trials.best(|tried| tried.kind() != MetricKind::None).map(|best| &trials.tried[best]);
        let (gain, gain_standard_error) =
            nearest.map_or((0.0, 0.0), |nearest| nearest.residuals.gain_over(&without.residuals));
        let round = |tried: &Tried| MetricRound {
            kind: tried.kind(),
            round: tried.point.round,
            bandwidth: tried.point.bandwidth,
            lambda: tried.lambda,
            loo_mse: tried.error,
        };
        let learned = trials.tried.iter().filter(|tried| tried.kind() != MetricKind::None);
        let scaled = trials.scaled(kept.point.scaling);
        MetricReport {
            chosen: kept.kind(),
            effective_rank: kept.point.metric.effective_rank(&scaled),
            relevances: kept.point.metric.relevances(&scaled),
            rounds: std::iter::once(without).chain(learned).map(round).collect(),
            rows: trials.rows.row_count(),
            loo_rows: kept.residuals.squares.len(),
            gain,
            gain_standard_error,
        }
    }
}

/// The candidate that is kept: the best without a metric, unless one with a metric gains more than chance would; a full one
/// has to gain on a diagonal one.
fn kept(trials: &Trials) -> usize {
    let tried = &trials.tried;
    let best = KINDS.iter().filter_map(|kind| trials.best(|tried| tried.kind() == *kind));
    let kept = best.reduce(|kept, next| {
        let (gain, error) = tried[next].residuals.gain_over(&tried[kept].residuals);
        if gain > STANDARD_ERRORS * error { next } else { kept }
    });
    kept.unwrap_or(0)
}
