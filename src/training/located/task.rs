//! What a pass is to do, as it travels to where the rows are: JSON, whose SHA-256 is the spec hash of the statistics.

use super::hash_split::HashSplit;
use super::task_function::{TaskInputs, TaskMap};
use crate::dataset::{ColumnKind, InputColumn, Part, Roles};
use crate::features::Precision;
use crate::solver::{GramGrid, GramSums, InstructionSet, Width};
use crate::training::{PARTIAL_HEADER, TableMoments, TableProfile, TrainError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Tasks of other versions are refused: their statistics would not add up with ours.
const VERSION: u32 = 1;

/// What a pass finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassKind {
    /// Counts, moments of all columns, and a sample.
    Profile,
    /// Moments of inputs and targets over one part.
    Moments,
    /// The Gram matrix of features and the sums beside it.
    Gram,
    /// The errors of a function on the validation rows.
    Errors,
}

impl PassKind {
    /// All of them with their names.
    pub const ALL: [(&'static str, Self); 4] =
        [("profile", Self::Profile), ("moments", Self::Moments), ("gram", Self::Gram), ("errors", Self::Errors)];

    /// As in the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("?", |(name, _)| name)
    }
}

/// A task: which columns are read, how rows are split, and what is computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassTask {
    version: u32,
    /// The columns that are read, in this order.
    pub(super) columns: Vec<String>,
    /// Places of the targets among them; all others are inputs.
    pub(super) targets: Vec<usize>,
    pub(super) split: HashSplit,
    /// The number of the instruction set that every pass must use; each its own where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<u32>,
    pub(super) work: Work,
}

/// What is computed of the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Work {
    Profile {
        sample: u32,
        /// Rows with larger hashes are not in the sample of all files, so that no part has to keep them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        largest: Option<u64>,
    },
    Moments {
        unlabelled: bool,
    },
    Gram {
        inputs: TaskInputs,
        map: TaskMap,
        double: bool,
        coding: TaskCoding,
        grid: TaskGrid,
    },
    Errors {
        inputs: TaskInputs,
        map: TaskMap,
        double: bool,
        weights: Vec<Vec<f64>>,
        intercepts: Vec<f64>,
    },
}

/// y ↦ (y − shift)/unit of each target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskCoding {
    pub(super) shift: Vec<f64>,
    pub(super) unit: Vec<f64>,
}

/// Bounds as powers of two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskGrid {
    pub(super) feature: i32,
    pub(super) weight: i32,
    pub(super) targets: Vec<i32>,
}

impl TaskGrid {
    pub(super) fn of(grid: &GramGrid) -> Self {
        Self { feature: grid.feature, weight: grid.weight, targets: grid.targets.clone() }
    }

    pub(super) fn grid(&self) -> GramGrid {
        let Self { feature, weight, targets } = self.clone();
        GramGrid { width: Width::Narrow, feature, weight, targets }
    }
}

impl PassTask {
    pub(super) fn new(columns: &[String], targets: &[usize], split: HashSplit, work: Work) -> Self {
        let (columns, targets) = (columns.to_vec(), targets.to_vec());
        Self { version: VERSION, columns, targets, split, instructions: None, work }
    }

    /// The same task, for passes that all use these instructions.
    #[must_use]
    pub(super) fn with_instructions(self, set: Option<InstructionSet>) -> Self {
        Self { instructions: set.map(InstructionSet::number), ..self }
    }

    /// The instructions that every pass must use, where the task says so.
    pub fn instructions(&self) -> Option<InstructionSet> {
        self.instructions.and_then(InstructionSet::numbered)
    }

    /// The task of a file, checked.
    pub fn read(bytes: &[u8]) -> Result<Self, TrainError> {
        let refuse = |detail: String| TrainError::Data(format!("the task cannot be run: {detail}"));
        let version = |value: &serde_json::Value| value.get("version").and_then(serde_json::Value::as_u64);
        let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|error| refuse(error.to_string()))?;
        if version(&value) != Some(u64::from(VERSION)) {
            return Err(refuse(format!(
                "it has another version than {VERSION}; use the same release of bochner on all machines"
            )));
        }
        let task: Self = serde_json::from_slice(bytes).map_err(|error| refuse(error.to_string()))?;
        if task.is_consistent() { Ok(task) } else { Err(refuse("its parts do not fit together".into())) }
    }

    /// The bytes of its file.
    pub fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a task has no keys that are not texts")
    }

    /// SHA-256 of its file: statistics of different tasks do not add up.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.write()).into()
    }

    /// What it computes.
    pub fn kind(&self) -> PassKind {
        match self.work {
            Work::Profile { .. } => PassKind::Profile,
            Work::Moments { .. } => PassKind::Moments,
            Work::Gram { .. } => PassKind::Gram,
            Work::Errors { .. } => PassKind::Errors,
        }
    }

    /// Bytes of its statistics, without the rows of a sample.
    pub fn statistics_bytes(&self) -> u64 {
        let (columns, k) = (self.columns.len(), self.targets.len());
        let payload = match &self.work {
            Work::Profile { .. } => TableProfile::byte_count(columns),
            Work::Moments { .. } => TableMoments::byte_count(columns),
            Work::Errors { .. } => TableMoments::byte_count(2 * k),
            Work::Gram { map, .. } => GramSums::narrow_byte_count(map.feature_count(), k),
        };
        (PARTIAL_HEADER + payload) as u64
    }

    /// The columns that it reads, in the order of the cells of a row.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(super) fn roles(&self) -> Roles {
        let inputs = (0..self.columns.len()).filter(|column| !self.targets.contains(column)).collect();
        Roles { inputs, targets: self.targets.clone(), weight: None }
    }

    /// Every input column, whose cells are numbers already.
    pub(super) fn input_columns(&self) -> Vec<InputColumn> {
        let column = |&index: &usize| InputColumn::plain(&self.columns[index], ColumnKind::Numeric, &[]);
        self.roles().inputs.iter().map(column).collect()
    }

    fn is_consistent(&self) -> bool {
        let (d, k) = (self.columns.len().saturating_sub(self.targets.len()), self.targets.len());
        let distinct: std::collections::BTreeSet<_> = self.targets.iter().collect();
        let columns =
            d > 0 && k > 0 && distinct.len() == k && distinct.last().is_some_and(|at| **at < self.columns.len());
        let shares = self.split.validation + self.split.calibration;
        columns
            && self.instructions.is_none_or(|number| InstructionSet::numbered(number).is_some())
            && (0.0..1.0).contains(&shares)
            && match &self.work {
                Work::Profile { sample, .. } => *sample > 0,
                Work::Moments { .. } => true,
                Work::Gram { inputs, map, coding, grid, .. } => {
                    let exponents = || grid.targets.iter().chain([&grid.feature, &grid.weight]);
                    inputs.is_consistent(d)
                        && map.is_consistent(d)
                        && (coding.shift.len(), coding.unit.len(), grid.targets.len()) == (k, k, k)
                        && coding.unit.iter().all(|unit| *unit > 0.0)
                        && exponents().all(|exponent| exponent.unsigned_abs() < 2_048)
                }
                Work::Errors { inputs, map, weights, intercepts, .. } => {
                    inputs.is_consistent(d)
                        && map.is_consistent(d)
                        && weights.len() == map.feature_count()
                        && weights.iter().all(|row| row.len() == k)
                        && intercepts.len() == k
                }
            }
    }
}

/// The part whose moments are taken.
pub(super) fn part_of_moments(unlabelled: bool) -> Part {
    if unlabelled { Part::Unlabelled } else { Part::Training }
}

pub(super) fn precision_of(double: bool) -> Precision {
    if double { Precision::Double } else { Precision::Mixed }
}
