//! Repeat the experiments of the papers, by the library that trains.

use super::progress::ProgressLine;
use super::written;
use crate::reproduce::{Experiment, Settings};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Experiment, tables and outputs of `bochner reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArguments {
    /// One of the experiments, or all.
    #[arg(value_parser = parse_experiments, help = format!("{}, or all", names()))]
    experiment: ChosenExperiments,

    /// Folder with the public tables, as NAME.csv.gz with the target in the column 'target'.
    #[arg(long)]
    data: PathBuf,

    /// Folder for the results. Points that are there already are not measured again.
    #[arg(long)]
    out: PathBuf,

    /// Repetitions. The default is that of the paper.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    repeats: Option<u64>,

    /// A small version, with few rows and features, in seconds.
    #[arg(long)]
    quick: bool,

    /// Seed of all draws and choices of rows. Use another folder for another seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Threads. The default is all cores; no number depends on it.
    #[arg(long)]
    threads: Option<usize>,
}

/// One experiment, or all of them.
#[derive(Debug, Clone)]
struct ChosenExperiments(Vec<Experiment>);

fn parse_experiments(text: &str) -> Result<ChosenExperiments, String> {
    if text == "all" {
        return Ok(ChosenExperiments(Experiment::ALL.iter().map(|(_, experiment)| *experiment).collect()));
    }
    let found = Experiment::ALL.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, experiment)| ChosenExperiments(vec![*experiment]))
        .ok_or_else(|| format!("must be all or one of {}", names()))
}

/// The names of all experiments, in one line.
fn names() -> String {
    Experiment::ALL.map(|(name, _)| name).join(", ")
}

/// Runs the experiments one after the other and prints what each found.
pub(super) fn reproduce(arguments: &ReproduceArguments) -> Result<(), String> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    for experiment in &arguments.experiment.0 {
        let settings = Settings {
            data: arguments.data.clone(),
            repeats: arguments.repeats.unwrap_or_else(|| experiment.default_repeats(arguments.quick)),
            quick: arguments.quick,
            seed: arguments.seed,
            threads: arguments.threads.unwrap_or_else(cores).max(1),
        };
        let (start, name) = (Instant::now(), experiment.name());
        eprintln!("{name}: {} repetitions, seed {}", settings.repeats, settings.seed);
        let line = ProgressLine::start("points", experiment.point_count(&settings));
        let found = experiment.run(&settings, &arguments.out, &line);
        line.finish();
        let found = found.map_err(|error| format!("{name}: {error}"))?;
        let page = format!("## {name}\n\n{}\n", found.text);
        let mut target = std::io::stdout();
        written("the findings", target.write_all(page.as_bytes()).and_then(|()| target.flush()))?;
        eprintln!("{name}: {:.0} s, results in {}", start.elapsed().as_secs_f64(), arguments.out.display());
    }
    Ok(())
}
