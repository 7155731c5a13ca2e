//! Passes in this process, file after file.

use super::TableFolder;
use super::file_rows::add_file;
use crate::training::{Engine, Partial, PassSums, PassTask, TrainError};

/// Reads the files itself.
pub struct LocalEngine<'f> {
    /// The files.
    pub folder: &'f TableFolder,
    /// Threads; the statistics do not depend on them.
    pub threads: usize,
}

impl Engine for LocalEngine<'_> {
    fn run(
        &self,
        task: &PassTask,
        tick: &(dyn Fn(f64) -> Result<(), TrainError> + Sync),
    ) -> Result<Partial, TrainError> {
        let mut sums = PassSums::new(task, self.threads);
        let count = self.folder.files.len() as f64;
        for (done, file) in self.folder.files.iter().enumerate() {
            let within = |share: f64| tick((done as f64 + share) / count);
            within(0.0)?;
            add_file(file, task, &mut sums, &within)?;
        }
        tick(1.0)?;
        sums.finish()
    }
}
