//! Training on a table in files that stay where they are: what is asked of all rows becomes tasks, and an engine runs them on
//! the machines that have the rows. Everything else works on a sample that comes with the first task.

/// The part of a row by its hash.
mod hash_split;

/// What a pass is to do, as it travels.
mod task;

/// A function as it travels.
mod task_function;

/// The sums of a task, chunk by chunk.
mod pass_sums;

/// A table that was profiled, with its sample.
mod located_table;

/// What such a table cannot have yet.
mod refusals;

pub use located_table::{FileColumn, LocatedTable, estimate_located_memory, train_located};
pub use pass_sums::{CHUNK_ROWS, Chunk, PassSums};
pub use task::{PassKind, PassTask};

use super::{InstructionSet, Partial, TrainError};

/// What runs a task over all files and merges the statistics of them. The statistics of a task are the same bytes from every
/// engine.
pub trait Engine: Sync {
    /// Runs a task. `tick` takes the share that is done; its error ends the task, and nothing is left running.
    fn run(
        &self,
        task: &PassTask,
        tick: &(dyn Fn(f64) -> Result<(), TrainError> + Sync),
    ) -> Result<Partial, TrainError>;

    /// The instructions that every pass must use, where its machines have different ones.
    fn instructions(&self) -> Option<InstructionSet> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Rows, Schema};
    use crate::model::{FittedModel, encode};
    use crate::training::{Observer, PassStatistics, Resources, SpecLimits, Stage, TrainSpec, train};
    use serde_json::{Value, json};

    struct Silent;

    impl Observer for Silent {
        fn progress(&self, _: Stage, _: f64) {}

        fn should_stop(&self) -> bool {
            false
        }
    }

    const RESOURCES: Resources = Resources { threads: 2, cache_bytes: 1 << 26 };

    /// Two inputs and a target, which is missing here and there.
    fn row(at: usize) -> [f64; 3] {
        let (x, z) = ((at as f64 * 0.7).sin() * 2.0, (at as f64 * 0.31).cos());
        let y = (2.0 * x).sin() + z * z + 0.1 * (at as f64 * 12.9).sin();
        [x, if at.is_multiple_of(97) { f64::NAN } else { z }, if at.is_multiple_of(61) { f64::NAN } else { y }]
    }

    /// Files of these many rows, read in parts of one engine each, whose statistics travel as bytes.
    struct Parts {
        files: Vec<usize>,
        groups: Vec<Vec<usize>>,
        threads: usize,
    }

    impl Engine for Parts {
        fn run(
            &self,
            task: &PassTask,
            _: &(dyn Fn(f64) -> Result<(), TrainError> + Sync),
        ) -> Result<Partial, TrainError> {
            let mut total: Option<Partial> = None;
            for group in &self.groups {
                let task = PassTask::read(&task.write())?;
                let mut sums = PassSums::new(&task, self.threads);
                for &file in group {
                    let first: usize = self.files[..file].iter().sum();
                    let cells: Vec<f64> = (first..first + self.files[file]).flat_map(row).collect();
                    for (at, cells) in cells.chunks(3 * CHUNK_ROWS).enumerate() {
                        sums.add(&Chunk { file: &format!("{file}"), first: (at * CHUNK_ROWS) as u64, cells })?;
                    }
                }
                let partial = Partial::decode(&sums.finish()?.encode()).unwrap();
                match &mut total {
                    None => total = Some(partial),
                    Some(total) => total.merge(&partial).unwrap(),
                }
            }
            Ok(total.unwrap())
        }
    }

    fn spec(raw: &Value) -> TrainSpec {
        TrainSpec::check("", Some(raw), SpecLimits { feature_count: 4096 }).unwrap()
    }

    fn model_of(engine: &Parts, raw: &Value) -> (FittedModel, Schema) {
        let column = |name: &str| FileColumn { name: name.into(), boolean: false };
        let columns = [column("x"), column("z"), column("y")];
        let table = LocatedTable::profile(
            engine,
            (&columns, engine.files.iter().sum::<usize>() as u64),
            &[2],
            &spec(raw),
            &Silent,
        )
        .unwrap();
        let model = train_located(&table, "files", &spec(raw), RESOURCES, &Silent).unwrap().model;
        (model, table.schema().clone())
    }

    const FILES: [usize; 5] = [5_000, 0, 17_000, 2_048, 1];

    #[test]
    fn partitions_do_not_show_in_the_model() {
        for raw in [
            json!({"effort": "fast", "features": {"count": 64}, "kernel": {"bandwidth": 1.0}, "lambda": 1e-5}),
            json!({"effort": "fast", "features": {"count": 32, "sampling": "structured"}, "calibration_fraction": 0.1}),
        ] {
            let bytes = |parts: &[&[usize]], threads| {
                let groups = parts.iter().map(|part| part.to_vec()).collect();
                encode(&model_of(&Parts { files: FILES.to_vec(), groups, threads }, &raw).0).unwrap()
            };
            let whole = bytes(&[&[0, 1, 2, 3, 4]], 1);
            for (parts, threads) in
                [(&[&[4, 2][..], &[1, 0, 3]][..], 2), (&[&[3], &[2], &[1], &[0], &[4]], 1), (&[&[1], &[4, 3, 2, 0]], 3)]
            {
                assert!(bytes(parts, threads) == whole, "{raw} {parts:?}");
            }
        }
    }

    /// Statistics made by others are refused, since the engine was asked for these.
    #[test]
    fn instructions_that_were_asked_for_and_not_used_are_refused_by_name() {
        struct Other(Parts, InstructionSet);

        impl Engine for Other {
            fn run(
                &self,
                task: &PassTask,
                tick: &(dyn Fn(f64) -> Result<(), TrainError> + Sync),
            ) -> Result<Partial, TrainError> {
                assert_eq!(task.instructions(), Some(self.1));
                self.0.run(task, tick)
            }

            fn instructions(&self) -> Option<InstructionSet> {
                Some(self.1)
            }
        }

        let columns = ["x", "z", "y"].map(|name| FileColumn { name: name.into(), boolean: false });
        for set in InstructionSet::ALL {
            let engine = Other(Parts { files: vec![5_000], groups: vec![vec![0]], threads: 1 }, set);
            let table = LocatedTable::profile(&engine, (&columns, 5_000), &[2], &spec(&json!({})), &Silent);
            let refusal = table.err().map(|error| error.to_string());
            assert_eq!(refusal.is_none(), set == InstructionSet::in_use(), "{set:?}");
            assert!(refusal.is_none_or(|words| words.contains(set.name()) && words.contains("asked for")));
        }
    }

    /// The same rows as one table, split as tables are.
    struct Whole(usize);

    impl Rows for Whole {
        fn row_count(&self) -> usize {
            self.0
        }

        fn column_count(&self) -> usize {
            3
        }

        fn read(&self, first: usize, cells: &mut [f64]) -> std::io::Result<()> {
            cells.chunks_exact_mut(3).enumerate().for_each(|(at, cells)| cells.copy_from_slice(&row(first + at)));
            Ok(())
        }
    }

    /// Only the rows that are held out are others.
    #[test]
    fn the_model_is_that_of_a_table_but_for_the_split() {
        let raw = json!({"effort": "fast", "features": {"count": 64}, "kernel": {"bandwidth": 1.0}, "lambda": 1e-5});
        let (files, schema) =
            model_of(&Parts { files: FILES.to_vec(), groups: vec![vec![0, 1, 2, 3, 4]], threads: 1 }, &raw);
        let rows = Whole(FILES.iter().sum());
        let table = train(&rows, &schema, "files", &spec(&raw), RESOURCES, &Silent).unwrap().model;
        let (one, other) = (&files.report, &table.report);
        let total = |rows: &crate::model::FitReport| rows.training_rows + rows.validation_rows + rows.unlabelled_rows;
        assert_eq!((total(one), one.unlabelled_rows), (total(other), other.unlabelled_rows));
        // Five standard deviations of a binomial share of a fifth.
        let spread = (total(one) as f64 * 0.2 * 0.8).sqrt();
        assert!((one.validation_rows as f64 - other.validation_rows as f64).abs() < 5.0 * spread);
        let errors = [&files, &table].map(|model| match &model.report.errors {
            crate::model::ErrorReport::Numbers(errors) => (errors.training_mse, errors.validation_mse.unwrap()),
            crate::model::ErrorReport::Labels(_) => panic!(),
        });
        assert!((errors[0].0 / errors[1].0 - 1.0).abs() < 0.05, "{errors:?}");
        assert!((errors[0].1 / errors[1].1 - 1.0).abs() < 0.1, "{errors:?}");
    }

    /// Most rows are held out, so that few are fitted, but the sample has not all of them: the exact method of those at hand
    /// would be another one. With fewer rows all are at hand.
    #[test]
    fn the_exact_method_is_solved_only_where_all_fitted_rows_are_at_hand() {
        let raw = json!({"effort": "fast", "features": {"count": 16}, "kernel": {"bandwidth": 1.0}, "lambda": 1e-2,
            "validation_fraction": 0.97, "guarantees": {"exact_rows": 5_000}});
        for (rows, compared) in [(80_000, false), (20_000, true)] {
            let engine = Parts { files: vec![rows], groups: vec![vec![0]], threads: 2 };
            let (model, _) = model_of(&engine, &raw);
            assert!(model.report.training_rows < 5_000, "{}", model.report.training_rows);
            let evidence = model.evidence.unwrap();
            assert_eq!((evidence.exact.is_some(), evidence.certificate.is_some()), (compared, compared), "{rows}");
        }
    }

    /// Parts keep few rows beyond those of the sample of all files, and the sample is the same as if they kept all they could.
    #[test]
    fn parts_keep_few_rows_that_are_not_in_the_sample() {
        struct Counting(Parts, std::sync::Mutex<Vec<(usize, u64, u64)>>);
        impl Engine for Counting {
            fn run(
                &self,
                task: &PassTask,
                tick: &(dyn Fn(f64) -> Result<(), TrainError> + Sync),
            ) -> Result<Partial, TrainError> {
                for group in &self.0.groups {
                    let Parts { files, threads, .. } = &self.0;
                    let part = Parts { files: files.clone(), groups: vec![group.clone()], threads: *threads };
                    let partial = part.run(task, tick)?;
                    let bytes = partial.encode().len() as u64;
                    let PassStatistics::Profile(profile) = partial.statistics else { continue };
                    let of_rows = (profile.sample.len() * 8 * (3 + 3)) as u64;
                    let found = (profile.sample.len(), bytes - of_rows, task.statistics_bytes());
                    self.1.lock().unwrap().push(found);
                }
                self.0.run(task, tick)
            }
        }
        let columns = ["x", "z", "y"].map(|name| FileColumn { name: name.into(), boolean: false });
        let groups = vec![vec![0], vec![1], vec![2]];
        let engine =
            Counting(Parts { files: vec![60_000, 50_000, 90_000], groups, threads: 2 }, std::sync::Mutex::default());
        let sample = |stated: u64| {
            let table = LocatedTable::profile(&engine, (&columns, stated), &[2], &spec(&json!({})), &Silent).unwrap();
            let kept = std::mem::take(&mut *engine.1.lock().unwrap());
            assert!(kept.iter().all(|(_, bytes, stated)| bytes == stated), "{kept:?}");
            let cells: Vec<u64> = table.sample(SAMPLE).cells.iter().map(|cell| cell.to_bits()).collect();
            (cells, kept.iter().map(|(rows, ..)| *rows).collect::<Vec<_>>())
        };
        let (all, most) = sample(1);
        assert_eq!((all.len(), most), (3 * SAMPLE, vec![60_000, 50_000, SAMPLE]));
        let (found, kept) = sample(200_000);
        assert!(found == all && kept.len() == 3, "one pass");
        let total: usize = kept.iter().sum();
        assert!((SAMPLE..SAMPLE * 11 / 10).contains(&total), "{kept:?}");
        // The files stated more rows than they have: the pass is made again.
        let (found, kept) = sample(400_000);
        assert!(found == all && kept.len() == 6, "{kept:?}");
    }

    const SAMPLE: usize = 65_536;

    /// The engine decides by these who merges.
    #[test]
    fn tasks_know_the_bytes_of_their_statistics() {
        struct Measuring(Parts, std::sync::Mutex<Vec<PassKind>>);
        impl Engine for Measuring {
            fn run(
                &self,
                task: &PassTask,
                tick: &(dyn Fn(f64) -> Result<(), TrainError> + Sync),
            ) -> Result<Partial, TrainError> {
                let partial = self.0.run(task, tick)?;
                let rows = match &partial.statistics {
                    PassStatistics::Profile(profile) => 8 * (3 + 3) * profile.sample.len(),
                    PassStatistics::Moments(_) | PassStatistics::Gram(..) | PassStatistics::Errors(_) => 0,
                };
                assert_eq!(task.statistics_bytes(), (partial.encode().len() - rows) as u64, "{:?}", task.kind());
                self.1.lock().unwrap().push(task.kind());
                Ok(partial)
            }
        }
        let engine =
            Measuring(Parts { files: vec![9_000], groups: vec![vec![0]], threads: 1 }, std::sync::Mutex::default());
        let columns = ["x", "z", "y"].map(|name| FileColumn { name: name.into(), boolean: false });
        let spec = spec(&json!({"effort": "fast", "features": {"count": 16}}));
        for targets in [&[2][..], &[1, 2]] {
            let table = LocatedTable::profile(&engine, (&columns, 9_000), targets, &spec, &Silent).unwrap();
            train_located(&table, "files", &spec, RESOURCES, &Silent).unwrap();
            let kinds = std::mem::take(&mut *engine.1.lock().unwrap());
            assert!(PassKind::ALL.iter().all(|(_, kind)| kinds.contains(kind)), "{kinds:?}");
        }
    }

    #[test]
    fn rows_that_change_between_passes_are_noticed() {
        struct Shrinking(std::sync::Mutex<usize>);
        impl Engine for Shrinking {
            fn run(
                &self,
                task: &PassTask,
                tick: &(dyn Fn(f64) -> Result<(), TrainError> + Sync),
            ) -> Result<Partial, TrainError> {
                let mut rows = self.0.lock().unwrap();
                *rows -= 1_000;
                Parts { files: vec![*rows], groups: vec![vec![0]], threads: 1 }.run(task, tick)
            }
        }
        let column = |name: &str| FileColumn { name: name.into(), boolean: false };
        let (columns, engine) = ([column("x"), column("z"), column("y")], Shrinking(9_000.into()));
        let spec = spec(&json!({"effort": "fast", "features": {"count": 16}}));
        let table = LocatedTable::profile(&engine, (&columns, 8_000), &[2], &spec, &Silent).unwrap();
        let refusal = train_located(&table, "files", &spec, RESOURCES, &Silent).err().unwrap();
        assert!(matches!(refusal, TrainError::Engine(_)) && refusal.to_string().contains("were changed"), "{refusal}");
    }
}
