//! M in k(M^½x, M^½x'), and what it does to inputs and frequencies.

use crate::dataset::{Encoding, Scaling};
use crate::features::FeatureMap;
use crate::model::{InputPipeline, MetricKind};
use crate::solver::{product_in_strips, symmetric_root};
use crate::training::stage::TrainError;
use ndarray::{Array1, Array2, Axis};

/// Relevance below this share of the mean counts as this share, so that no input that varies is lost for good.
const LEAST_RELEVANCE: f64 = 1e-9;

/// Standard deviations between the two points of a difference quotient, for functions with kinks: half of them.
const DIFFERENCE_STEP: f64 = 0.5;

/// The average of gᵀg over rows, or its diagonal.
#[derive(Debug, Clone)]
pub(in crate::training::fit) enum GradientProducts {
    Diagonal(Array1<f64>),
    Full(Array2<f64>),
}

/// M with its root.
#[derive(Debug, Clone)]
pub(in crate::training::fit) enum Metric {
    Identity,
    /// M.
    Diagonal(Array1<f64>),
    Full {
        matrix: Array2<f64>,
        root: Array2<f64>,
    },
}

impl Metric {
    /// The metric of some gradients by the scaled inputs. Inputs of one text column share one relevance and no
    /// direction, inputs that never vary have none, and tr M is the number of inputs that do.
    pub(in crate::training::fit) fn of(products: GradientProducts, inputs: &InputPipeline) -> Result<Self, TrainError> {
        let varies: Vec<bool> = inputs.scaling.factor.iter().map(|factor| *factor != 0.0).collect();
        let count = varies.iter().filter(|varies| **varies).count() as f64;
        let groups = text_groups(&inputs.encoding);
        match products {
            GradientProducts::Diagonal(mut diagonal) => {
                diagonal.iter_mut().zip(&varies).filter(|(_, varies)| !**varies).for_each(|(value, _)| *value = 0.0);
                for group in groups {
                    let of_group: Vec<usize> = group.filter(|&input| varies[input]).collect();
                    let mean =
                        of_group.iter().map(|&input| diagonal[input]).sum::<f64>() / of_group.len().max(1) as f64;
                    for input in of_group {
                        diagonal[input] = mean;
                    }
                }
                let mut diagonal = scaled(diagonal.sum(), count).map_or(diagonal.clone(), |by| diagonal * by);
                let least = |(value, varies): (&mut f64, &bool)| {
                    if *varies {
                        *value = value.max(LEAST_RELEVANCE);
                    }
                };
                diagonal.iter_mut().zip(&varies).for_each(least);
                Ok(Self::Diagonal(diagonal))
            }
            GradientProducts::Full(mut matrix) => {
                for input in (0..varies.len()).filter(|&input| !varies[input]) {
                    matrix.row_mut(input).fill(0.0);
                    matrix.column_mut(input).fill(0.0);
                }
                for group in groups {
                    let of_group: Vec<usize> = group.filter(|&input| varies[input]).collect();
                    let sum = of_group.iter().map(|&input| matrix[[input, input]]).sum::<f64>();
                    let mean = sum / of_group.len().max(1) as f64;
                    for input in of_group {
                        matrix.row_mut(input).fill(0.0);
                        matrix.column_mut(input).fill(0.0);
                        matrix[[input, input]] = mean;
                    }
                }
                if let Some(by) = scaled(matrix.diag().sum(), count) {
                    matrix *= by;
                }
                let root = symmetric_root(&matrix)?;
                Ok(Self::Full { matrix, root })
            }
        }
    }

    pub(in crate::training::fit) fn kind(&self) -> MetricKind {
        match self {
            Self::Identity => MetricKind::None,
            Self::Diagonal(_) => MetricKind::Diagonal,
            Self::Full { .. } => MetricKind::Full,
        }
    }

    /// The pipeline of `scaled` with M^½ after it.
    pub(in crate::training::fit) fn applied_to(&self, scaled: &InputPipeline) -> InputPipeline {
        match self {
            Self::Identity => scaled.clone(),
            Self::Diagonal(diagonal) => {
                let factor = scaled.scaling.factor.iter().zip(diagonal).map(|(factor, value)| factor * value.sqrt());
                let scaling = Scaling { factor: factor.collect(), ..scaled.scaling.clone() };
                InputPipeline { scaling, ..scaled.clone() }
            }
            Self::Full { root, .. } => InputPipeline { metric_root: Some(root.clone()), ..scaled.clone() },
        }
    }

    /// How fast the angles of a map in the coordinates M^½x change with the scaled inputs x: V·M^½, m×d. Frequencies with
    /// heavy tails have no mean square, so the derivative of their waves is a difference quotient.
    pub(super) fn slopes(&self, map: &FeatureMap) -> Array2<f64> {
        let frequencies = map.frequencies.written_out();
        let slopes = match self {
            Self::Identity => frequencies.into_owned(),
            Self::Diagonal(diagonal) => &*frequencies * &diagonal.mapv(f64::sqrt).insert_axis(Axis(0)),
            Self::Full { root, .. } => product_in_strips(frequencies.view(), root.view()),
        };
        if map.kernel.is_heavy_tailed() {
            return slopes.mapv(|slope| libm::sin(slope * DIFFERENCE_STEP) / DIFFERENCE_STEP);
        }
        slopes
    }

    /// Gradients (rows×d) by the coordinates M^½x become those by the scaled inputs x.
    pub(super) fn by_inputs(&self, gradients: Array2<f64>) -> Array2<f64> {
        match self {
            Self::Identity => gradients,
            Self::Diagonal(diagonal) => gradients * &diagonal.mapv(f64::sqrt).insert_axis(Axis(0)),
            Self::Full { root, .. } => product_in_strips(gradients.view(), root.view()),
        }
    }

    /// (tr M)²/tr M².
    pub(in crate::training::fit) fn effective_rank(&self, inputs: &InputPipeline) -> f64 {
        let diagonal = self.diagonal(inputs);
        let squares = match self {
            Self::Identity | Self::Diagonal(_) => diagonal.dot(&diagonal),
            Self::Full { matrix, .. } => matrix.iter().map(|value| value * value).sum(),
        };
        diagonal.sum().powi(2) / squares
    }

    /// The share of each column in tr M.
    pub(in crate::training::fit) fn relevances(&self, inputs: &InputPipeline) -> Vec<f64> {
        let diagonal = self.diagonal(inputs);
        let total = diagonal.sum();
        let columns = inputs.encoding.input_ranges();
        columns.into_iter().map(|range| range.map(|input| diagonal[input]).sum::<f64>() / total).collect()
    }

    fn diagonal(&self, inputs: &InputPipeline) -> Array1<f64> {
        match self {
            Self::Identity => inputs.scaling.factor.iter().map(|factor| f64::from(u8::from(*factor != 0.0))).collect(),
            Self::Diagonal(diagonal) => diagonal.clone(),
            Self::Full { matrix, .. } => matrix.diag().to_owned(),
        }
    }
}

/// What brings a trace to `count`; none where it is zero, as for a constant function.
fn scaled(trace: f64, count: f64) -> Option<f64> {
    let by = count / trace;
    by.is_finite().then_some(by)
}

/// The inputs of each text column.
fn text_groups(encoding: &Encoding) -> Vec<std::ops::Range<usize>> {
    let columns = encoding.columns.iter().zip(encoding.input_ranges());
    columns.filter(|(column, _)| !column.levels.is_empty()).map(|(_, range)| range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{ColumnKind, InputColumn};
    use crate::features::{Kernel, MapKind, Sampling};
    use ndarray::array;

    /// Two numbers, one text column of two levels, and a number that never varies.
    fn inputs() -> InputPipeline {
        let column = InputColumn::plain;
        let columns = vec![
            column("a", ColumnKind::Numeric, &[]),
            column("b", ColumnKind::Numeric, &[]),
            column("colour", ColumnKind::Categorical, &["blue", "red"]),
            column("same", ColumnKind::Numeric, &[]),
        ];
        let scaling = Scaling { fill: vec![0.0; 5], offset: vec![0.0; 5], factor: vec![1.0, 2.0, 1.0, 1.0, 0.0] };
        InputPipeline { encoding: Encoding { columns }, scaling, metric_root: None }
    }

    #[test]
    fn levels_of_a_column_share_one_relevance_and_constants_have_none() {
        let Metric::Diagonal(found) =
            Metric::of(GradientProducts::Diagonal(array![4.0, 1.0, 0.5, 1.5, 9.0]), &inputs()).unwrap()
        else {
            panic!("a diagonal")
        };
        // Trace 7 of four inputs that vary.
        let expected = array![4.0, 1.0, 1.0, 1.0, 0.0] * (4.0 / 7.0);
        assert!((&found - &expected).iter().all(|gap| gap.abs() < 1e-12), "{found}");
        let metric = Metric::Diagonal(found);
        assert!(
            metric.relevances(&inputs()).iter().zip([4.0, 1.0, 2.0, 0.0]).all(|(a, b)| (a - b / 7.0).abs() < 1e-12)
        );
        assert!((metric.effective_rank(&inputs()) - 49.0 / 19.0).abs() < 1e-12);
        assert_eq!(metric.applied_to(&inputs()).scaling.factor[4], 0.0);
    }

    #[test]
    fn a_full_metric_turns_numbers_alone() {
        let gradient = array![[1.0, 2.0, 3.0, -1.0, 5.0]];
        let products = gradient.t().dot(&gradient);
        let metric = Metric::of(GradientProducts::Full(products), &inputs()).unwrap();
        let Metric::Full { matrix, root } = &metric else { panic!("a full one") };
        assert!((matrix.diag().sum() - 4.0).abs() < 1e-12);
        assert!((matrix[[0, 1]] - 2.0 * matrix[[0, 0]]).abs() < 1e-12);
        assert_eq!(matrix[[2, 2]], matrix[[3, 3]]);
        assert!(matrix.indexed_iter().all(|((i, j), value)| i == j || (i < 2 && j < 2) || *value == 0.0));
        assert!((root.dot(root) - matrix).iter().all(|gap| gap.abs() < 1e-12));
    }

    /// The root in the inputs and the root in the frequencies give the same angles.
    #[test]
    fn inputs_and_frequencies_can_both_hold_the_metric() {
        let products = array![
            [2.0, 0.7, 0.0, 0.0, 0.0],
            [0.7, 1.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0]
        ];
        let metric = Metric::of(GradientProducts::Full(products), &inputs()).unwrap();
        let pipeline = metric.applied_to(&inputs());
        let map = FeatureMap::sample(Kernel::Gaussian { bandwidth: 2.0 }, MapKind::Pair, Sampling::Plain, 1, 12, 5);
        let rows = [[0.3, -0.2, 1.0, 4.0], [1.5, 0.1, 0.0, 4.0]];
        let rows = || rows.iter().map(<[f64; 4]>::as_slice);
        let inside = map.projector::<f64>().transform(pipeline.prepare(rows()).view());
        let root = pipeline.metric_root.as_ref().unwrap();
        let outside = map.folded(root).projector::<f64>().transform(pipeline.prepare_scaled(rows()).view());
        assert!((&inside - &outside).iter().all(|gap| gap.abs() < 1e-12));
    }
}
