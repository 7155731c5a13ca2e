//! The jobs that make models: open the table, train, update or certify, publish.

use crate::cluster::{Locations, SparkOptions};
use crate::dataset::{Dataset, DatasetStore, Rows, Table};
use crate::jobs::{Control, DISK_FULL, Failure, Job, JobKind, JobStage, Runner};
use crate::linalg;
use crate::model::{FittedModel, Imported, ModelRegistry, ModelVersion, RegistryError};
use crate::request::problem::Problem;
use crate::serving::{ModelCache, make_ready};
use crate::telemetry::{JobLabels, Metrics, StageLabel};
use crate::theory::RowAccess;
use crate::training::recertify;
use crate::training::{
    CompareSpec, LARGEST_EXACT_ROWS, Observer, Resources, SpecLimits, Stage, TrainError, TrainSpec, Trained, compare,
    estimate_certification, estimate_comparison, estimate_memory, train, update,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// Runs the jobs that make models, against the stores of a data directory.
pub struct TrainingJobs {
    /// Where tables come from.
    pub datasets: DatasetStore,
    /// Where models go.
    pub registry: ModelRegistry,
    /// Where they are made ready.
    pub model_cache: ModelCache,
    /// Which folders are read where they are.
    pub locations: Locations,
    /// How sessions of the cluster are started, if there is one.
    pub spark: Option<SparkOptions>,
    /// Threads of one job.
    pub threads: usize,
    /// Bytes one job may take.
    pub memory: u64,
    /// Limits of a spec.
    pub limits: SpecLimits,
    /// Stage durations.
    pub metrics: Metrics,
}

/// Whether a certify job could read the rows of a model that was just made.
fn row_access(model: &FittedModel) -> RowAccess {
    match &model.report {
        report if report.base_version.is_some() => RowAccess::Scattered,
        report if report.training_rows as u64 > LARGEST_EXACT_ROWS => RowAccess::TooMany,
        _ => RowAccess::Kept,
    }
}

impl Runner for TrainingJobs {
    fn run(&self, job: &Job, control: &Control) -> Result<Value, Failure> {
        let start = Instant::now();
        let outcome = self.attempt(job, control);
        let label = match &outcome {
            Ok(_) => "succeeded",
            Err(_) if control.should_stop() => "stopped",
            Err(_) => "failed",
        };
        let labels = JobLabels { r#type: job.request.kind.name(), outcome: label };
        self.metrics.job_seconds.get_or_create(&labels).observe(start.elapsed().as_secs_f64());
        outcome
    }

    fn obstacle(&self) -> Option<String> {
        self.registry.disk().check().err().map(|error| error.to_string())
    }
}

impl TrainingJobs {
    fn attempt(&self, job: &Job, control: &Control) -> Result<Value, Failure> {
        // A process that died after publishing and before saying so left the model behind.
        if let Some(version) = self.registry.find_artifact(&job.id).map_err(|error| failure("storage", error))? {
            return self.result(&version);
        }
        let version = match job.request.kind {
            JobKind::Train => self.train(job, control)?,
            JobKind::Update => self.update(job, control)?,
            JobKind::Certify => self.certify(job, control)?,
            JobKind::Compare => return self.compare(job, control),
        };
        self.result(&version)
    }

    fn train(&self, job: &Job, control: &Control) -> Result<Arc<ModelVersion>, Failure> {
        let dataset = self.datasets.find(&job.request.dataset).map_err(|error| failure("dataset", error))?;
        if dataset.location.is_some() {
            let trained = self.train_on_location(job, control, &dataset)?;
            return self.publish(job, control, trained, None, None);
        }
        let spec = checked_spec(&job.request.payload, "the spec of this job", self.limits)?;
        let (dataset, table) = self.open(job)?;
        let observer = ControlObserver(control);
        let spec = spec.within_memory(&dataset.schema, self.threads, self.memory);
        let need = estimate_memory(&spec, &dataset.schema, self.threads);
        let resources = Resources { threads: self.threads, cache_bytes: self.memory.saturating_sub(need) };
        let trained = stoppable(control, || train(&table, &dataset.schema, &dataset.id, &spec, resources, &observer));
        self.publish(job, control, trained.map_err(training_failure)?, None, None)
    }

    /// Adds rows to the version named, or to the newest; should another job publish a newer one
    /// meanwhile, to that, so that updates in a row add up.
    fn update(&self, job: &Job, control: &Control) -> Result<Arc<ModelVersion>, Failure> {
        let (dataset, table) = self.open(job)?;
        let named = named_version(job)?;
        loop {
            let base = self.registry.find(&job.request.model, named).map_err(|error| failure("model", error))?;
            let model = self.registry.load(&base).map_err(|error| failure("model", error))?;
            let spec = stored_spec(&base, &model.spec, self.limits)?;
            let source: (&dyn Rows, _, _) = (&table, &dataset.schema, dataset.id.as_str());
            let observer = ControlObserver(control);
            let trained = stoppable(control, || update(model, base.version, &spec, source, self.threads, &observer));
            let after = if named.is_none() { Some(base.version) } else { None };
            match self.publish(job, control, trained.map_err(training_failure)?, after, base.imported.clone()) {
                Err(superseded) if superseded.code == "superseded" => {}
                outcome => return outcome,
            }
        }
    }

    /// Measures what training left out and keeps it with the version, whose predictions stay as they are.
    fn certify(&self, job: &Job, control: &Control) -> Result<Arc<ModelVersion>, Failure> {
        let (dataset, table) = self.open(job)?;
        let named = named_version(job)?;
        let entry = self.registry.find(&job.request.model, named).map_err(|error| failure("model", error))?;
        let model = self.registry.load(&entry).map_err(|error| failure("model", error))?;
        let spec = stored_spec(&entry, &model.spec, self.limits)?;
        let need = estimate_certification(&spec, &dataset.schema, self.threads);
        let resources = Resources { threads: self.threads, cache_bytes: self.memory.saturating_sub(need) };
        let observer = ControlObserver(control);
        let certified = stoppable(control, || recertify(model, &spec, (&table, &dataset.schema), resources, &observer));
        let certified = certified.map_err(training_failure)?;
        control.progress(JobStage::Publish, 0.0);
        stop_if_asked(control)?;
        let mut description = certified.model.describe_with(RowAccess::Kept);
        let mut known = self.description(&entry)?;
        for field in ["stage_seconds", "search"] {
            if let Some(value) = known["report"].get_mut(field) {
                description["report"][field] = value.take();
            }
        }
        let description = description.to_string();
        let predictor = make_ready(certified.model).map_err(|error| failure("internal", error))?;
        stop_if_asked(control)?; // the last time: a file that is written gets its entry
        let stored = self.registry.store(&job.id, predictor.model()).map_err(storage_failure)?;
        let put = |version: &Arc<ModelVersion>| {
            self.model_cache.release(&entry);
            self.model_cache.put(version, predictor);
        };
        self.registry.replace(&entry, stored, &description, put).map_err(storage_failure)
    }

    /// Compares samplings; the result is kept with the job.
    fn compare(&self, job: &Job, control: &Control) -> Result<Value, Failure> {
        let spec = CompareSpec::check(&job.request.payload, self.limits)
            .map_err(|problems| no_longer_valid("the comparison of this job", problems))?;
        let (dataset, table) = self.open(job)?;
        let need = estimate_comparison(&spec, &dataset.schema, self.threads);
        let resources = Resources { threads: self.threads, cache_bytes: self.memory.saturating_sub(need) };
        let observer = ControlObserver(control);
        let found = stoppable(control, || compare(&table, &dataset.schema, &dataset.name, &spec, resources, &observer));
        Ok(json!({"report": found.map_err(training_failure)?}))
    }

    /// What a finished job tells.
    fn result(&self, version: &ModelVersion) -> Result<Value, Failure> {
        Ok(json!({"version": version.version, "report": self.description(version)?["report"].take()}))
    }

    fn description(&self, version: &ModelVersion) -> Result<Value, Failure> {
        let description = self.registry.description(version).map_err(|error| failure("storage", error))?;
        serde_json::from_str(&description)
            .map_err(|error| failure("storage", format!("the description of the model is not JSON: {error}")))
    }

    fn open(&self, job: &Job) -> Result<(Dataset, Table), Failure> {
        let dataset = self.datasets.find(&job.request.dataset).map_err(|error| failure("dataset", error))?;
        let table = self.datasets.open_table(&dataset).map_err(|error| failure("dataset", error))?;
        Ok((dataset, table))
    }

    /// Makes a model ready, then visible: a request for the newest version neither waits for it nor gets one that fails.
    fn publish(
        &self,
        job: &Job,
        control: &Control,
        trained: Trained,
        after: Option<u32>,
        imported: Option<Imported>,
    ) -> Result<Arc<ModelVersion>, Failure> {
        for (stage, seconds) in &trained.stage_seconds {
            self.metrics.stage_seconds.get_or_create(&StageLabel { stage: stage.name() }).observe(*seconds);
        }
        control.progress(JobStage::Publish, 0.0);
        stop_if_asked(control)?;
        let stages = trained.stage_seconds.iter().map(|(stage, seconds)| (stage.name().to_owned(), json!(seconds)));
        let located = self.datasets.find(&job.request.dataset).is_ok_and(|dataset| dataset.location.is_some());
        let rows = if located { RowAccess::Elsewhere } else { row_access(&trained.model) };
        let mut description = trained.model.describe_with(rows);
        description["report"]["stage_seconds"] = Value::Object(stages.collect());
        if let Some(candidates) = description["report"].pointer_mut("/search/candidates").and_then(Value::as_array_mut)
        {
            let with_seconds = candidates.iter_mut().zip(&trained.candidate_seconds);
            with_seconds.for_each(|(candidate, seconds)| candidate["seconds"] = json!(seconds));
        }
        let description = description.to_string();
        let predictor = make_ready(trained.model).map_err(|error| failure("internal", error))?;
        stop_if_asked(control)?; // the last time: a file that is written gets its entry
        let stored = self.registry.store(&job.id, predictor.model()).map_err(storage_failure)?.marked_as(imported);
        // The file names the files that it was trained on, wherever they are; the entry names the dataset here.
        let stored = if located { stored.of_dataset(&job.request.dataset) } else { stored };
        let put = |version: &Arc<ModelVersion>| self.model_cache.put(version, predictor);
        self.registry.publish(&job.request.model, &stored, &description, after, put).map_err(|error| match error {
            RegistryError::Superseded { .. } => failure("superseded", error),
            error => storage_failure(error),
        })
    }
}

/// The spec that a version was trained by. What an earlier release wrote may not parse any more; the default spec would
/// then train something else.
fn stored_spec(version: &ModelVersion, text: &str, limits: SpecLimits) -> Result<TrainSpec, Failure> {
    let owner = format!("the spec stored with version {} of model '{}'", version.version, version.name);
    let raw = serde_json::from_str(text)
        .map_err(|error| failure("invalid_spec", format!("{owner} is not JSON ({error}); train the model again")))?;
    checked_spec(&raw, &owner, limits)
}

pub(super) fn checked_spec(raw: &Value, owner: &str, limits: SpecLimits) -> Result<TrainSpec, Failure> {
    TrainSpec::check_stored("/spec", raw, limits).map_err(|problems| no_longer_valid(owner, problems))
}

fn no_longer_valid(owner: &str, problems: Vec<Problem>) -> Failure {
    let details: Vec<String> = problems.into_iter().map(|p| format!("{}: {}", p.pointer, p.detail)).collect();
    failure("invalid_spec", format!("{owner} is not valid any more: {}", details.join("; ")))
}

/// The version a job names, if it names one.
fn named_version(job: &Job) -> Result<Option<u32>, Failure> {
    serde_json::from_value(job.request.payload["version"].clone())
        .map_err(|error| failure("invalid_spec", format!("the version that this job names is not one: {error}")))
}

/// Runs a training that stops at its next checkpoint, wherever that is, once its job should stop.
pub(super) fn stoppable<T>(
    control: &Control,
    training: impl FnOnce() -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    let control = control.clone();
    let stopped = linalg::stoppable(Arc::new(move || control.should_stop()), training);
    stopped.unwrap_or(Err(TrainError::Stopped))
}

/// Ends a job between two steps that take a moment each.
fn stop_if_asked(control: &Control) -> Result<(), Failure> {
    if control.should_stop() { Err(training_failure(TrainError::Stopped)) } else { Ok(()) }
}

/// For lack of room the job can be done later; anything else ends it.
fn storage_failure(error: RegistryError) -> Failure {
    failure(if error.is_disk_full() { DISK_FULL } else { "storage" }, error)
}

pub(super) fn training_failure(error: TrainError) -> Failure {
    let code = match error {
        TrainError::Stopped => "stopped",
        TrainError::Rows(ref error) if error.kind() == std::io::ErrorKind::InvalidData => "dataset", // damaged
        TrainError::Rows(_) => "storage",
        TrainError::Solve(_) => "not_solvable",
        TrainError::Data(_) => "nothing_to_learn",
        TrainError::Engine(_) => "engine",
        TrainError::Panicked => "internal",
    };
    failure(code, error)
}

/// A job's control as training sees it.
pub(super) struct ControlObserver<'a>(pub(super) &'a Control);

impl Observer for ControlObserver<'_> {
    fn progress(&self, stage: Stage, fraction: f64) {
        self.0.progress(JobStage::Work(stage.name()), fraction);
    }

    fn should_stop(&self) -> bool {
        self.0.should_stop()
    }
}

pub(super) fn failure(code: &str, detail: impl ToString) -> Failure {
    Failure { code: code.to_owned(), detail: detail.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version() -> ModelVersion {
        ModelVersion {
            name: "prices".into(),
            version: 7,
            artifact: "a".into(),
            dataset: "d".into(),
            bytes: 0,
            sha256: String::new(),
            created_at: String::new(),
            imported: None,
        }
    }

    /// Neither torn JSON nor a field of another release becomes the default spec.
    #[test]
    fn a_stored_spec_that_no_longer_parses_fails_the_job() {
        let limits = SpecLimits { feature_count: 64 };
        assert!(stored_spec(&version(), "{\"features\": {\"count\": 8}}", limits).is_ok());
        for (text, part) in [
            ("", "is not JSON"),
            ("{\"features\":", "is not JSON"),
            ("null", "must be an object"),
            ("{\"retired\": 1}", "/spec/retired"),
            ("{\"features\": {\"count\": 128}}", "/spec/features/count"),
        ] {
            let refused = stored_spec(&version(), text, limits).unwrap_err();
            assert_eq!(refused.code, "invalid_spec");
            assert!(
                refused.detail.contains("version 7 of model 'prices'") && refused.detail.contains(part),
                "{}",
                refused.detail
            );
        }
    }
}
