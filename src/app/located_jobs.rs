//! Training jobs on datasets whose rows stay where they are.

use super::training_jobs::{ControlObserver, TrainingJobs, checked_spec, failure, stoppable, training_failure};
use crate::cluster::{LocalEngine, LocationError, SparkEngine, TableFolder, open_unchanged};
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
        let folder = open_unchanged(&self.locations, dataset).map_err(location_failure)?;
        let train = |engine: &dyn Engine| self.train_with(engine, control, (&folder, dataset), &spec);
        match (job.request.engine, &self.spark) {
            (JobEngine::Local, _) => train(&LocalEngine { folder: &folder, threads: self.threads }),
            (JobEngine::Spark, Some(options)) => {
                let tick = |_| if control.should_stop() { Err(TrainError::Stopped) } else { Ok(()) };
                let engine = SparkEngine::start(&folder, options, &tick).map_err(training_failure)?;
                train(&engine)
            }
            (JobEngine::Spark, None) => {
                let detail = "the service was started without --spark-master since this job was submitted";
                Err(failure("engine", detail))
            }
        }
    }

    fn train_with(
        &self,
        engine: &dyn Engine,
        control: &Control,
        (folder, dataset): (&TableFolder, &Dataset),
        spec: &TrainSpec,
    ) -> Result<Trained, Failure> {
        let observer = ControlObserver(control);
        let targets = &dataset.schema.targets;
        let measured = stoppable(control, || LocatedTable::profile(engine, &folder.columns, targets, spec, &observer));
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
        let trained = stoppable(control, || train_located(&table, &folder.id, &spec, resources, &observer));
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
