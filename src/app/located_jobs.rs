//! Training jobs on datasets whose rows stay where they are.

use super::training_jobs::{ControlObserver, TrainingJobs, checked_spec, failure, stoppable, training_failure};
use crate::cluster::{
    LocalEngine, LocationError, SparkEngine, TableFiles, TablePlace, open_unchanged, open_unchanged_remote, place_of,
};
use crate::dataset::Dataset;
use crate::jobs::{Control, Failure, Job, JobEngine};
use crate::training::{
    Engine, LocatedTable, Resources, TrainError, TrainSpec, Trained, estimate_located_memory, train_located,
};

impl TrainingJobs {
    /// Trains by passes of the engine that the job names. The model is the same bytes with each, and those of the command line.
    pub(super) fn train_on_location(
        &self,
        job: &Job,
        control: &Control,
        dataset: &Dataset,
    ) -> Result<Trained, Failure> {
        let spec = checked_spec(&job.request.payload, "the spec of this job", self.limits)?;
        let tick = |_| if control.should_stop() { Err(TrainError::Stopped) } else { Ok(()) };
        let train = |engine: &dyn Engine, table: &TableFiles| self.train_with(engine, control, (table, dataset), &spec);
        match (place_of(&self.locations, dataset).map_err(location_failure)?, job.request.engine, &self.spark) {
            (TablePlace::Folder(path), JobEngine::Local, _) => {
                let folder = open_unchanged(&path, dataset).map_err(location_failure)?;
                train(&LocalEngine { folder: &folder, threads: self.threads }, &folder.table)
            }
            (TablePlace::Folder(path), JobEngine::Spark, Some(options)) => {
                let folder = open_unchanged(&path, dataset).map_err(location_failure)?;
                let engine = SparkEngine::start(&folder, options, &tick).map_err(training_failure)?;
                train(&engine, &folder.table)
            }
            (TablePlace::Remote(uri), JobEngine::Spark, Some(options)) => {
                let opened = open_unchanged_remote(&uri, dataset, Some(options), &tick);
                let (engine, table) = opened.map_err(location_failure)?;
                train(&engine, &table)
            }
            (TablePlace::Remote(uri), JobEngine::Local, _) => Err(failure(
                "dataset",
                format!("the files at {uri} can only be read on Spark: use \"engine\": \"spark\""),
            )),
            (_, JobEngine::Spark, None) => {
                let detail = "the service was started without --spark-master since this job was submitted";
                Err(failure("engine", detail))
            }
        }
    }

    fn train_with(
        &self,
        engine: &dyn Engine,
        control: &Control,
        (files, dataset): (&TableFiles, &Dataset),
        spec: &TrainSpec,
    ) -> Result<Trained, Failure> {
        let observer = ControlObserver(control);
        let targets = &dataset.schema.targets;
        let measured = stoppable(control, || {
            LocatedTable::profile(engine, (&files.columns, files.rows), targets, spec, &observer)
        });
        let table = measured.map_err(training_failure)?;
        if let Some(difference) = table.difference(&dataset.schema) {
            let name = &dataset.name;
            let detail = format!(
                "the files of dataset '{name}' were changed since it was registered ({difference}): register the location again"
            );
            return Err(failure("dataset", detail));
        }
        let spec = spec.within_memory(table.schema(), self.threads, self.memory);
        let need = estimate_located_memory(&spec, table.schema(), self.threads);
        let resources = Resources { threads: self.threads, cache_bytes: self.memory.saturating_sub(need) };
        let trained = stoppable(control, || train_located(&table, &files.id, &spec, resources, &observer));
        trained.map_err(training_failure)
    }
}

fn location_failure(error: LocationError) -> Failure {
    match error {
        LocationError::Pass(error) => training_failure(error),
        LocationError::NoneAllowed
        | LocationError::NotAllowed { .. }
        | LocationError::Refused(_)
        | LocationError::Changed(_)
        | LocationError::Dataset(_) => failure("dataset", error),
    }
}
