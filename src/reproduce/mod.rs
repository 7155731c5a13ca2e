//! The experiments of the papers, by the code that trains and serves.
//!
//! An experiment is a list of points, each measured from the seed and its own place in the list alone. Every point is written
//! to a CSV file as soon as it is known, so a run that was interrupted goes on where it stopped, and a finished file is the
//! same whatever the number of threads.

/// The CSV file of an experiment.
mod book;

/// Means, standard errors and slopes.
mod statistics;

/// Public tables as the papers use them.
mod tables;

/// Exact kernel ridge regression and ridge regression on random features, side by side.
mod fits;

/// W, Figures 1 and 2: the error of random features falls like 1/s.
mod wang_rate;

/// W, Figures 3 and 4: equation (31) over the error.
mod wang_tightness;

/// W, Theorem 2: sign features on the sphere.
mod wang_lower;

/// R, Figure 3: risk, λ and features by the number of rows.
mod rudi_rates;

/// A: spectral errors, and a preconditioner of random features.
mod avron;

/// S, Figures 2 to 4, and L: errors of samplings on test rows.
mod comparisons;

/// S, Figure 1: the scores of a pool.
mod elss_scores;

/// L, Tables 1 and 2: features by the decay of a spectrum.
mod li_tables;

use crate::linalg;
use crate::plots::{Size, XyChart};
use crate::solver::{Interrupted, SolveError};
use crate::training::{Observer, TrainError};
use book::{Book, Key};
use std::path::{Path, PathBuf};

/// An experiment of one of the papers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Experiment {
    /// W, Figures 1 and 2.
    WangRate,
    /// W, Figures 3 and 4.
    WangTightness,
    /// W, Theorem 2.
    WangLower,
    /// R, Figure 3.
    RudiRates,
    /// S, Figure 2.
    Elss,
    /// S, Figure 3.
    ElssLambda,
    /// S, Figure 1.
    ElssScores,
    /// S, Figure 4.
    FewLabels,
    /// A, Theorem 7.
    AvronDelta,
    /// A, §3.2.
    AvronPreconditioner,
    /// A, §6.
    AvronCapped,
    /// L, Corollaries 1 and 2.
    LiFeatures,
    /// L, Tables 1 and 2.
    LiTables,
}

impl Experiment {
    /// Every experiment with its name.
    pub const ALL: [(&'static str, Self); 13] = [
        ("wang-rate", Self::WangRate),
        ("wang-tightness", Self::WangTightness),
        ("wang-lower", Self::WangLower),
        ("rudi-rates", Self::RudiRates),
        ("elss", Self::Elss),
        ("elss-lambda", Self::ElssLambda),
        ("elss-scores", Self::ElssScores),
        ("few-labels", Self::FewLabels),
        ("avron-delta", Self::AvronDelta),
        ("avron-preconditioner", Self::AvronPreconditioner),
        ("avron-capped", Self::AvronCapped),
        ("li-features", Self::LiFeatures),
        ("li-tables", Self::LiTables),
    ];

    /// As the command line has it.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, experiment)| *experiment == self).map_or("", |(name, _)| name)
    }

    /// Repetitions of the paper, or of a small version.
    pub fn default_repeats(self, quick: bool) -> u64 {
        match self {
            _ if quick => 3,
            Self::WangRate | Self::WangLower | Self::RudiRates => 100,
            Self::WangTightness | Self::AvronPreconditioner | Self::ElssScores => 10,
            Self::Elss
            | Self::ElssLambda
            | Self::FewLabels
            | Self::AvronDelta
            | Self::AvronCapped
            | Self::LiFeatures
            | Self::LiTables => 20,
        }
    }

    /// Points of a run.
    pub fn point_count(self, settings: &Settings) -> usize {
        self.study().keys(settings).len()
    }

    /// Measures what is not in the CSV file of `out` yet, and writes it, the charts and the text there.
    pub fn run(self, settings: &Settings, out: &Path, observer: &dyn Observer) -> Result<Findings, ReproduceError> {
        linalg::use_one_blas_thread();
        let study = self.study();
        let stem = if settings.quick { format!("{}-quick", self.name()) } else { self.name().to_owned() };
        std::fs::create_dir_all(out).map_err(|error| at(out, &error))?;
        let mut book =
            Book::open(&out.join(format!("{stem}.csv")), study.quantities(), study.keys(settings), observer)?;
        study.measure(settings, &mut book)?;
        book.finish()?;
        let findings = study.findings(settings, &book);
        let write = |name: String, text: &str| {
            let path = out.join(name);
            std::fs::write(&path, text).map_err(|error| at(&path, &error))
        };
        write(format!("{stem}.md"), &findings.text)?;
        for (name, chart) in &findings.charts {
            let name = if name.is_empty() { stem.clone() } else { format!("{stem}-{name}") };
            write(format!("{name}.svg"), &chart.to_svg(Size::Wide))?;
        }
        Ok(findings)
    }

    fn study(self) -> &'static dyn Study {
        match self {
            Self::WangRate => &wang_rate::WangRate,
            Self::WangTightness => &wang_tightness::WangTightness,
            Self::WangLower => &wang_lower::WangLower,
            Self::RudiRates => &rudi_rates::RudiRates,
            Self::Elss => &comparisons::ELSS,
            Self::ElssLambda => &comparisons::ELSS_LAMBDA,
            Self::ElssScores => &elss_scores::ElssScores,
            Self::FewLabels => &comparisons::FEW_LABELS,
            Self::AvronDelta => &avron::delta::AvronDelta,
            Self::AvronPreconditioner => &avron::preconditioner::AvronPreconditioner,
            Self::AvronCapped => &avron::capped::AvronCapped,
            Self::LiFeatures => &comparisons::LI_FEATURES,
            Self::LiTables => &li_tables::LiTables,
        }
    }
}

/// What a run depends on.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder with the public tables, as `name.csv.gz`.
    pub data: PathBuf,
    /// Repetitions.
    pub repeats: u64,
    /// A small version: fewer rows and features.
    pub quick: bool,
    /// Of all draws and choices of rows.
    pub seed: u64,
    /// Threads. No number depends on them.
    pub threads: usize,
}

impl Settings {
    /// The larger number, or the smaller one of a small version.
    fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

/// What an experiment found.
pub struct Findings {
    /// What was expected and what was found, with tables, in Markdown.
    pub text: String,
    /// Charts with the ends of their file names.
    pub charts: Vec<(String, XyChart)>,
    /// Whether the effect that the paper reports has the sign that it reports.
    pub as_expected: bool,
}

/// One experiment.
trait Study: Sync {
    /// What is measured at each point: the columns of the CSV file.
    fn quantities(&self) -> &'static [&'static str];

    /// Every point of a run.
    fn keys(&self, settings: &Settings) -> Vec<Key>;

    /// Measures the points that the book does not have.
    fn measure(&self, settings: &Settings, book: &mut Book) -> Result<(), ReproduceError>;

    /// What the points say.
    fn findings(&self, settings: &Settings, book: &Book) -> Findings;
}

/// Why an experiment ended early.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// A file could not be read or written, or is not what it should be.
    #[error("{0}")]
    File(String),
    /// A system could not be solved.
    #[error(transparent)]
    Solve(SolveError),
    /// A comparison failed.
    #[error(transparent)]
    Train(TrainError),
    /// The user asked to stop; the points so far are kept.
    #[error("stopped; the finished points are kept, and the same command goes on from there")]
    Stopped,
    /// A worker panicked; its message went to the log.
    #[error("a thread panicked; its message is in the log")]
    Panicked,
}

impl From<SolveError> for ReproduceError {
    fn from(error: SolveError) -> Self {
        if matches!(error, SolveError::Stopped) { Self::Stopped } else { Self::Solve(error) }
    }
}

impl From<TrainError> for ReproduceError {
    fn from(error: TrainError) -> Self {
        if matches!(error, TrainError::Stopped) { Self::Stopped } else { Self::Train(error) }
    }
}

impl From<Interrupted<Self>> for ReproduceError {
    fn from(interrupted: Interrupted<Self>) -> Self {
        match interrupted {
            Interrupted::Failed(error) => error,
            Interrupted::Panicked => Self::Panicked,
        }
    }
}

/// An error with the file it is about.
fn at(path: &Path, reason: &dyn std::fmt::Display) -> ReproduceError {
    ReproduceError::File(format!("{}: {reason}", path.display()))
}
