//! Inputs and features as they travel: the numbers themselves, so that no machine draws or rounds its own.

use crate::dataset::{Encoding, InputColumn, Scaling};
use crate::features::{FeatureMap, Frequencies, Kernel, MapKind, Structured};
use crate::model::InputPipeline;
use crate::training::TrainError;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

/// Scaling and metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskInputs {
    fill: Vec<f64>,
    offset: Vec<f64>,
    factor: Vec<f64>,
    metric_root: Option<Vec<Vec<f64>>>,
}

impl TaskInputs {
    pub(super) fn of(inputs: &InputPipeline) -> Self {
        let Scaling { fill, offset, factor } = inputs.scaling.clone();
        Self { fill, offset, factor, metric_root: inputs.metric_root.as_ref().map(rows_of) }
    }

    pub(super) fn is_consistent(&self, d: usize) -> bool {
        let root = |root: &Vec<Vec<f64>>| root.len() == d && root.iter().all(|row| row.len() == d);
        [&self.fill, &self.offset, &self.factor].iter().all(|list| list.len() == d)
            && self.metric_root.as_ref().is_none_or(root)
    }

    pub(super) fn pipeline(&self, columns: Vec<InputColumn>) -> InputPipeline {
        let Self { fill, offset, factor, metric_root } = self.clone();
        InputPipeline {
            encoding: Encoding { columns },
            scaling: Scaling { fill, offset, factor },
            metric_root: metric_root.map(|rows| matrix_of(&rows)),
        }
    }
}

/// ψ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskMap {
    kernel: TaskKernel,
    kind: TaskMapKind,
    frequencies: TaskFrequencies,
    phases: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum TaskKernel {
    Gaussian { bandwidth: f64 },
    Laplace { bandwidth: f64 },
    Matern { bandwidth: f64, nu: f64 },
    Cauchy { bandwidth: f64 },
    Angular,
    Spline { order: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TaskMapKind {
    Pair,
    Phase,
    Sign,
    Spline,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum TaskFrequencies {
    Dense(Vec<Vec<f64>>),
    Structured { input_dim: usize, norms: Vec<f64>, signs: Vec<bool> },
}

impl TaskMap {
    /// Maps without a bound, and draws with factors, are no features of a table in files.
    pub(super) fn of(map: &FeatureMap) -> Result<Self, TrainError> {
        let unknown =
            || TrainError::Data("these features cannot be made where the rows are; use sampling plain".into());
        let kind = match map.kind {
            MapKind::Pair => TaskMapKind::Pair,
            MapKind::Phase => TaskMapKind::Phase,
            MapKind::Sign => TaskMapKind::Sign,
            MapKind::Spline => TaskMapKind::Spline,
            MapKind::Linear | MapKind::Points => return Err(unknown()),
        };
        let kernel = match map.kernel {
            Kernel::Gaussian { bandwidth } => TaskKernel::Gaussian { bandwidth },
            Kernel::Laplace { bandwidth } => TaskKernel::Laplace { bandwidth },
            Kernel::Matern { bandwidth, nu } => TaskKernel::Matern { bandwidth, nu },
            Kernel::Cauchy { bandwidth } => TaskKernel::Cauchy { bandwidth },
            Kernel::Angular => TaskKernel::Angular,
            Kernel::Spline { order } => TaskKernel::Spline { order },
            Kernel::Linear => return Err(unknown()),
        };
        if map.scales.is_some() {
            return Err(unknown());
        }
        let frequencies = match &map.frequencies {
            Frequencies::Dense(matrix) => TaskFrequencies::Dense(rows_of(matrix)),
            Frequencies::Structured(Structured { input_dim, norms, signs }) => {
                TaskFrequencies::Structured { input_dim: *input_dim, norms: norms.clone(), signs: signs.clone() }
            }
        };
        Ok(Self { kernel, kind, frequencies, phases: map.phases.clone() })
    }

    pub(super) fn is_consistent(&self, d: usize) -> bool {
        let drawn = match &self.frequencies {
            TaskFrequencies::Dense(rows) => !rows.is_empty() && rows.iter().all(|row| row.len() == d),
            TaskFrequencies::Structured { input_dim, norms, signs } => {
                let structured = Structured { input_dim: *input_dim, norms: norms.clone(), signs: signs.clone() };
                !norms.is_empty() && *input_dim == d && structured.is_consistent()
            }
        };
        let phases = match self.kind {
            TaskMapKind::Phase => self.draw_count(),
            TaskMapKind::Pair | TaskMapKind::Sign | TaskMapKind::Spline => 0,
        };
        let kernel = self.kernel().shape();
        drawn && self.phases.len() == phases && kernel.is_valid() && self.kind().goes_with(kernel)
    }

    pub(super) fn feature_count(&self) -> usize {
        self.draw_count() * self.kind().columns_per_draw()
    }

    pub(super) fn map(&self) -> FeatureMap {
        let frequencies = match &self.frequencies {
            TaskFrequencies::Dense(rows) => Frequencies::Dense(matrix_of(rows)),
            TaskFrequencies::Structured { input_dim, norms, signs } => Frequencies::Structured(Structured {
                input_dim: *input_dim,
                norms: norms.clone(),
                signs: signs.clone(),
            }),
        };
        FeatureMap { kernel: self.kernel(), kind: self.kind(), frequencies, phases: self.phases.clone(), scales: None }
    }

    fn draw_count(&self) -> usize {
        match &self.frequencies {
            TaskFrequencies::Dense(rows) => rows.len(),
            TaskFrequencies::Structured { norms, .. } => norms.len(),
        }
    }

    fn kind(&self) -> MapKind {
        match self.kind {
            TaskMapKind::Pair => MapKind::Pair,
            TaskMapKind::Phase => MapKind::Phase,
            TaskMapKind::Sign => MapKind::Sign,
            TaskMapKind::Spline => MapKind::Spline,
        }
    }

    fn kernel(&self) -> Kernel {
        match self.kernel {
            TaskKernel::Gaussian { bandwidth } => Kernel::Gaussian { bandwidth },
            TaskKernel::Laplace { bandwidth } => Kernel::Laplace { bandwidth },
            TaskKernel::Matern { bandwidth, nu } => Kernel::Matern { bandwidth, nu },
            TaskKernel::Cauchy { bandwidth } => Kernel::Cauchy { bandwidth },
            TaskKernel::Angular => Kernel::Angular,
            TaskKernel::Spline { order } => Kernel::Spline { order },
        }
    }
}

pub(super) fn rows_of(matrix: &Array2<f64>) -> Vec<Vec<f64>> {
    matrix.rows().into_iter().map(|row| row.to_vec()).collect()
}

/// Of rows of one length.
pub(super) fn matrix_of(rows: &[Vec<f64>]) -> Array2<f64> {
    let columns = rows.first().map_or(0, Vec::len);
    Array2::from_shape_fn((rows.len(), columns), |(row, column)| rows[row][column])
}
