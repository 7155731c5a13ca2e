//! One fit and its error on the test rows, again and again: every sampling sees the same rows, kernel and seed.

use super::comparison::{Comparison, Repetition, Trial, mask, summarise};
use super::parts::{HeldRows, row_groups};
use super::request::{CompareSpec, Contender};
use crate::dataset::{Encoding, Part, Rows, Schema, Task};
use crate::features::{FeatureMap, Frequencies, MapKind};
use crate::model::Head;
use crate::training::TrainSpec;
use crate::training::assess::scored_function::ScoredFunction;
use crate::training::choose::choose_features;
use crate::training::choose::sample_trials::settle;
use crate::training::fit::choosing_rows::ChoosingRows;
use crate::training::fit::kernel_choice::KernelChoice;
use crate::training::fit::search::CodedRows;
use crate::training::rows::parted_rows::{PartedRows, RowBlock};
use crate::training::rows::run::Run;
use crate::training::spec::memory::estimate_memory;
use crate::training::stage::{Clock, Observer, Stage, TrainError};
use crate::training::train::{Resources, fit_weights};
use ndarray::{Array2, ArrayView2};

/// Rows beyond which the test rows are not listed.
const LISTED_ROWS: usize = 100_000;

/// Peak bytes of a comparison: of its largest fit, and of the rows where only some are held.
pub fn estimate_comparison(spec: &CompareSpec, schema: &Schema, threads: usize) -> u64 {
    let of_contender = |contender: &Contender| {
        let of_spec = |spec: &TrainSpec| {
            let inputs = Encoding::of(schema, &spec.roles(schema)).input_dim();
            let feature_count = if contender.is_linear { inputs } else { spec.feature_count };
            estimate_memory(&TrainSpec { feature_count, ..spec.clone() }, schema, threads)
        };
        contender.specs.iter().map(of_spec).max()
    };
    let largest = spec.contenders.iter().filter_map(of_contender).max().unwrap_or(0);
    let held = spec.row_limit.map_or(0, |limit| (limit as u64).min(schema.row_count));
    // The rows that are held, and a group and a part of every row of the table.
    largest + 8 * held * schema.columns.len() as u64 + 32 * schema.row_count
}

/// Compares samplings on `rows`. The result depends on the rows, the spec and the seeds alone. `dataset` is what the
/// result calls it.
pub fn compare(
    rows: &dyn Rows,
    schema: &Schema,
    dataset: &str,
    spec: &CompareSpec,
    resources: Resources,
    observer: &dyn Observer,
) -> Result<Comparison, TrainError> {
    observer.progress(Stage::Compare, 0.0);
    let first = first_spec(spec)?;
    let mut groups = row_groups(rows, schema, first)?;
    let held = match spec.row_limit {
        Some(limit) if limit < groups.iter().flatten().count() => {
            Some(HeldRows::thinned(rows, &groups, (limit, spec.seed), observer)?)
        }
        _ => None,
    };
    let rows: &dyn Rows = match &held {
        Some(held) => {
            groups = row_groups(held, schema, first)?;
            held
        }
        None => rows,
    };
    let mut comparing = Comparing { rows, schema, groups, spec, resources, observer, trials: Vec::new() };
    let repetitions =
        (0..spec.repeats).map(|repetition| comparing.repeat(repetition)).collect::<Result<Vec<_>, _>>()?;
    let learner = first.learner_for(schema.task).name();
    Ok(Comparison {
        dataset: dataset.to_owned(),
        target: schema.target_columns().next().map(|column| column.name.clone()).unwrap_or_default(),
        learner: learner.to_owned(),
        metric: if schema.task == Task::Regression { "rmse" } else { "error_rate" }.to_owned(),
        summary: summarise(&in_order(&comparing.trials, spec)),
        repetitions,
        trials: comparing.trials,
    })
}

/// The trials sampling by sampling, as they were asked for.
fn in_order(trials: &[Trial], spec: &CompareSpec) -> Vec<Trial> {
    let place = |trial: &Trial| spec.contenders.iter().position(|contender| contender.name == trial.sampling);
    let mut trials = trials.to_vec();
    trials.sort_by_key(|trial| (place(trial), trial.labels_per_class, trial.features, trial.repetition));
    trials
}

fn first_spec(spec: &CompareSpec) -> Result<&TrainSpec, TrainError> {
    let first = spec.contenders.first().and_then(|contender| contender.specs.first());
    first.ok_or_else(|| TrainError::Data("there is nothing to compare; name a sampling and a feature count".into()))
}

struct Comparing<'a> {
    rows: &'a dyn Rows,
    schema: &'a Schema,
    groups: Vec<Option<u32>>,
    spec: &'a CompareSpec,
    resources: Resources,
    observer: &'a dyn Observer,
    trials: Vec<Trial>,
}

impl Comparing<'_> {
    /// All trials of one repetition.
    fn repeat(&mut self, repetition: u64) -> Result<Repetition, TrainError> {
        let seed = self.spec.seed.wrapping_add(repetition);
        let limits: Vec<Option<usize>> = match self.spec.labels_per_class.as_slice() {
            [] => vec![None],
            counts => counts.iter().map(|count| Some(*count)).collect(),
        };
        let first = first_spec(self.spec)?;
        let mut told = None;
        for labels in limits {
            let parts = self.spec.parts(&self.groups, (self.schema, first), (seed, labels))?;
            let count = |part: Part| parts.iter().filter(|found| **found == part).count();
            let rows = Repetition {
                seed,
                training_rows: count(Part::Training),
                validation_rows: count(Part::Validation),
                test_rows: count(Part::Calibration),
                unlabelled_rows: count(Part::Unlabelled),
                test_mask: (parts.len() <= LISTED_ROWS)
                    .then(|| mask(parts.iter().map(|part| *part == Part::Calibration))),
            };
            told.get_or_insert(rows);
            for contender in &self.spec.contenders {
                self.try_counts(contender, &parts, (repetition, seed, labels))?;
            }
        }
        told.ok_or_else(|| TrainError::Data("there is nothing to compare".into()))
    }

    /// One contender at every feature count: rows are scaled and the kernel is chosen once.
    fn try_counts(
        &mut self,
        contender: &Contender,
        parts: &[Part],
        (repetition, seed, labels): (u64, u64, Option<usize>),
    ) -> Result<(), TrainError> {
        let Some(first) = contender.specs.first() else { return Ok(()) };
        let (schema, resources) = (self.schema, self.resources);
        let learner = first.learner_for(schema.task);
        let rows = PartedRows::new(self.rows, first.roles(schema), parts.to_vec());
        let silent = Silent(self.observer);
        let run = Run::new(rows, resources.threads, &silent);
        let encoding = run.join_rare(Encoding::of(schema, &first.roles(schema)))?;
        let training = ChoosingRows::of(run, (schema, &encoding), first, "training")?;
        let spec = TrainSpec { seed, ..first.clone() };
        let KernelChoice { scaling, inputs, kernel, .. } = training.choose_kernel(&encoding, &spec)?;
        let ChoosingRows { run, targets, .. } = &training;
        let coded = CodedRows { run, inputs: &inputs, coding: &targets.coding };
        let count = run.rows.count(Part::Training);
        for spec in &contender.specs {
            let asked = spec.feature_count;
            let feature_count = if contender.is_linear { inputs.input_dim() } else { asked };
            let spec = TrainSpec { seed, scaling: Some(scaling), feature_count, ..spec.clone() };
            let (spec, _) = settle(&coded, &spec, kernel, count)?;
            let spec = &spec;
            let map = if contender.is_linear {
                identity(kernel, inputs.input_dim())
            } else {
                choose_features(&coded, spec, kernel)?.map
            };
            // λ is searched on the features themselves, however they were chosen: the same rule for every contender.
            let lambda = training.choose_lambda((&inputs, map.clone(), None), (spec, learner), count, resources)?;
            let mut clock = Clock::start();
            let fit = fit_weights(&coded, (targets, learner), spec, (map, lambda), resources, &mut clock)?;
            let function = ScoredFunction::new(fit.function(&inputs));
            self.trials.push(Trial {
                sampling: contender.name.clone(),
                features: asked,
                labels_per_class: labels,
                repetition,
                error: test_error(run, &function, &targets.head)?,
                lambda: fit.lambda,
            });
            self.observer.progress(Stage::Compare, self.trials.len() as f64 / self.spec.trial_count() as f64);
        }
        Ok(())
    }
}

/// The inputs themselves as features.
fn identity(kernel: crate::features::Kernel, input_dim: usize) -> FeatureMap {
    let frequencies = Array2::eye(input_dim) * (input_dim as f64).sqrt(); // a linear map divides by √d
    let (frequencies, phases) = (Frequencies::Dense(frequencies), Vec::new());
    FeatureMap { kernel, kind: MapKind::Linear, frequencies, phases, scales: None }
}

/// Root mean squared error, or the share of wrong labels, on the test rows.
fn test_error(run: &Run, function: &ScoredFunction, head: &Head) -> Result<f64, TrainError> {
    let predict = |rows: &[&[f64]]| function.predict(rows);
    let add = |(sum, weight): &mut (f64, f64), block: &RowBlock, values: ArrayView2<f64>| {
        for (row, (values, targets)) in values.rows().into_iter().zip(block.targets().rows()).enumerate() {
            let error = match head {
                Head::Labels(labels) => f64::from(u8::from(labels.decide(&values.to_vec()) != targets[0] as usize)),
                Head::Numbers { .. } => (values[0] - targets[0]).powi(2),
            };
            *sum += block.weight(row) * error;
            *weight += block.weight(row);
        }
    };
    let (sum, weight) = run.evaluate(Part::Calibration, predict, (0.0, 0.0), add)?;
    let mean = sum / weight;
    if !mean.is_finite() {
        return Err(TrainError::Data(
            "the error on the test rows is not finite; use a larger lambda or scaled inputs".into(),
        ));
    }
    Ok(if head.labels().is_some() { mean } else { mean.sqrt() })
}

/// Passes on that training should stop, and keeps the progress of single fits to itself.
struct Silent<'a>(&'a dyn Observer);

impl Observer for Silent<'_> {
    fn progress(&self, _: Stage, _: f64) {}

    fn should_stop(&self) -> bool {
        self.0.should_stop()
    }
}
