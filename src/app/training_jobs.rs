//! What a job does: open the table, train or update, publish.

use crate::dataset::{Dataset, DatasetStore, Rows, Table};
use crate::jobs::{Control, Failure, Job, JobKind, JobStage, Runner};
use crate::model::{ModelRegistry, ModelVersion, RegistryError};
use crate::serving::{ModelCache, make_ready};
use crate::telemetry::{Metrics, StageLabel};
use crate::training::recertify;
use crate::training::{
    Observer, Resources, SpecLimits, Stage, TrainError, TrainSpec, Trained, estimate_certification, estimate_memory,
    train, update,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Runs the jobs that make models, against the stores of a data directory.
pub struct TrainingJobs {
    /// Where tables come from.
    pub datasets: DatasetStore,
    /// Where models go.
    pub registry: ModelRegistry,
    /// Where they are made ready.
    pub model_cache: ModelCache,
    /// Threads of one job.
    pub threads: usize,
    /// Bytes one job may take.
    pub memory: u64,
    /// What a spec may ask for.
    pub limits: SpecLimits,
    /// Stage durations.
    pub metrics: Metrics,
}

impl Runner for TrainingJobs {
    fn run(&self, job: &Job, control: &Control) -> Result<Value, Failure> {
        // A process that died after publishing and before saying so left the model behind.
        if let Some(version) = self.registry.find_artifact(&job.id).map_err(|error| failure("storage", error))? {
            return self.result(&version);
        }
        let version = match job.request.kind {
            JobKind::Train => self.train(job, control)?,
            JobKind::Update => self.update(job, control)?,
            JobKind::Certify => self.certify(job, control)?,
        };
        self.result(&version)
    }
}

impl TrainingJobs {
    fn train(&self, job: &Job, control: &Control) -> Result<Arc<ModelVersion>, Failure> {
        let spec = self.spec(&job.request.payload)?;
        let (dataset, table) = self.open(job)?;
        let observer = ControlObserver(control);
        let need = estimate_memory(&spec, &dataset.schema, self.threads);
        let resources = Resources { threads: self.threads, cache_bytes: self.memory.saturating_sub(need) };
        let trained = train(&table, &dataset.schema, &dataset.id, &spec, resources, &observer);
        self.publish(job, control, trained.map_err(training_failure)?, None)
    }

    /// Adds rows to the version named, or to the newest; should another job publish a newer one
    /// meanwhile, to that, so that updates in a row add up.
    fn update(&self, job: &Job, control: &Control) -> Result<Arc<ModelVersion>, Failure> {
        let (dataset, table) = self.open(job)?;
        let named = job.request.payload["version"].as_u64().and_then(|version| u32::try_from(version).ok());
        loop {
            let base = self.registry.find(&job.request.model, named).map_err(|error| failure("model", error))?;
            let model = self.registry.load(&base).map_err(|error| failure("model", error))?;
            let spec = self.spec(&serde_json::from_str(&model.spec).unwrap_or_default())?;
            let source: (&dyn Rows, _, _) = (&table, &dataset.schema, dataset.id.as_str());
            let trained = update(model, base.version, &spec, source, self.threads, &ControlObserver(control));
            let after = if named.is_none() { Some(base.version) } else { None };
            match self.publish(job, control, trained.map_err(training_failure)?, after) {
                Err(superseded) if superseded.code == "superseded" => {}
                outcome => return outcome,
            }
        }
    }

    /// Measures what training left out and keeps it with the version, whose predictions stay as they are.
    fn certify(&self, job: &Job, control: &Control) -> Result<Arc<ModelVersion>, Failure> {
        let (dataset, table) = self.open(job)?;
        let named = job.request.payload["version"].as_u64().and_then(|version| u32::try_from(version).ok());
        let entry = self.registry.find(&job.request.model, named).map_err(|error| failure("model", error))?;
        let model = self.registry.load(&entry).map_err(|error| failure("model", error))?;
        let spec = self.spec(&serde_json::from_str(&model.spec).unwrap_or_default())?;
        let need = estimate_certification(&spec, &dataset.schema, self.threads);
        let resources = Resources { threads: self.threads, cache_bytes: self.memory.saturating_sub(need) };
        let observer = ControlObserver(control);
        let certified = recertify(model, &spec, (&table, &dataset.schema), resources, &observer);
        let certified = certified.map_err(training_failure)?;
        control.progress(JobStage::Publish, 0.0);
        let predictor = make_ready(certified.model).map_err(|error| failure("internal", error))?;
        let stored = self.registry.store(&job.id, predictor.model()).map_err(|error| failure("storage", error))?;
        let put = |version: &Arc<ModelVersion>| {
            self.model_cache.release(&entry);
            self.model_cache.put(version, predictor);
        };
        self.registry.replace(&entry, stored, put).map_err(|error| failure("storage", error))
    }

    /// What a finished job tells.
    fn result(&self, version: &ModelVersion) -> Result<Value, Failure> {
        let description = self.registry.description(version).map_err(|error| failure("storage", error))?;
        let description: Value = serde_json::from_str(&description).unwrap_or_default();
        Ok(json!({"version": version.version, "report": description["report"]}))
    }

    fn spec(&self, raw: &Value) -> Result<TrainSpec, Failure> {
        TrainSpec::check("/spec", Some(raw), self.limits).map_err(|problems| {
            let details: Vec<String> = problems.into_iter().map(|p| format!("{}: {}", p.pointer, p.detail)).collect();
            failure("invalid_spec", details.join("; "))
        })
    }

    fn open(&self, job: &Job) -> Result<(Dataset, Table), Failure> {
        let dataset = self.datasets.find(&job.request.dataset).map_err(|error| failure("dataset", error))?;
        let table = self.datasets.open_table(&dataset).map_err(|error| failure("dataset", error))?;
        Ok((dataset, table))
    }

    /// Makes a model ready, then visible: nobody who asks for the newest version waits for it or meets one that fails.
    fn publish(
        &self,
        job: &Job,
        control: &Control,
        trained: Trained,
        after: Option<u32>,
    ) -> Result<Arc<ModelVersion>, Failure> {
        for (stage, seconds) in &trained.stage_seconds {
            self.metrics.stage_seconds.get_or_create(&StageLabel { stage: stage.name() }).observe(*seconds);
        }
        control.progress(JobStage::Publish, 0.0);
        let stages = trained.stage_seconds.iter().map(|(stage, seconds)| (stage.name().to_owned(), json!(seconds)));
        let mut description = trained.model.describe();
        description["report"]["stage_seconds"] = Value::Object(stages.collect());
        let description = description.to_string();
        let predictor = make_ready(trained.model).map_err(|error| failure("internal", error))?;
        let stored = self.registry.store(&job.id, predictor.model()).map_err(|error| failure("storage", error))?;
        let put = |version: &Arc<ModelVersion>| self.model_cache.put(version, predictor);
        self.registry.publish(&job.request.model, &stored, &description, after, put).map_err(|error| match error {
            RegistryError::Superseded { .. } => failure("superseded", error),
            _ => failure("storage", error),
        })
    }
}

fn training_failure(error: TrainError) -> Failure {
    let code = match error {
        TrainError::Stopped => "stopped",
        TrainError::Rows(ref error) if error.kind() == std::io::ErrorKind::InvalidData => "dataset", // damaged
        TrainError::Rows(_) => "storage",
        TrainError::Solve(_) => "not_solvable",
        TrainError::Data(_) => "nothing_to_learn",
        TrainError::Panicked => "internal",
    };
    failure(code, error)
}

/// A job's control as training sees it.
struct ControlObserver<'a>(&'a Control);

impl Observer for ControlObserver<'_> {
    fn progress(&self, stage: Stage, fraction: f64) {
        let stage = match stage {
            Stage::Scale => JobStage::Scale,
            Stage::Search => JobStage::Search,
            Stage::Accumulate => JobStage::Accumulate,
            Stage::Solve => JobStage::Solve,
            Stage::Evaluate => JobStage::Evaluate,
            Stage::Certify => JobStage::Certify,
        };
        self.0.progress(stage, fraction);
    }

    fn should_stop(&self) -> bool {
        self.0.should_stop()
    }
}

fn failure(code: &str, detail: impl ToString) -> Failure {
    Failure { code: code.to_owned(), detail: detail.to_string() }
}
