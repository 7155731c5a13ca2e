//! Exact kernel ridge regression next to a trained model.

use super::cases::{Trained, new_rows};
use super::dense::{cholesky, forward, solve, spectral_norm};
use super::tables::Table;
use bochner::features::{FeatureMap, Kernel, Sampling};
use bochner::model::{FittedModel, Predictor};
use ndarray::{Array1, Array2, ArrayView1, Axis};

/// The exact method on the rows of a model, at its kernel and λ.
pub(crate) struct Oracle {
    pub(crate) fitted: Array2<f64>,
    pub(crate) new: Array2<f64>,
    kernel: Kernel,
    ridge: f64,
    gram: Array2<f64>,
    centred: Array2<f64>,
    means: Array1<f64>,
    alpha: Array2<f64>,
    /// No prediction is further than this from the exact method.
    pub(crate) slack: f64,
    new_cells: Vec<Vec<f64>>,
    validation: Array2<f64>,
    validation_cells: Vec<Vec<f64>>,
}

impl Oracle {
    /// None where double precision cannot factor the system.
    pub(crate) fn new(trained: &Trained, table: &Table, target_count: usize) -> Option<Self> {
        let Trained { model, fitted, validation, cells } = trained;
        let of = |rows: &[usize]| scaled(model, &rows.iter().map(|&row| cells[row].clone()).collect::<Vec<_>>());
        let new = new_rows(table);
        let targets = table.targets.select(Axis(0), fitted);
        let targets = targets.select(Axis(1), &(0..target_count).collect::<Vec<_>>());
        let means = targets.mean_axis(Axis(0))?;
        let (inputs, kernel, ridge) = (of(fitted), model.map.kernel, model.report.lambda);
        let gram = kernel_matrix(kernel, &inputs, &inputs);
        let mut shifted = gram.clone();
        shifted.diag_mut().mapv_inplace(|value| value + fitted.len() as f64 * ridge);
        let centred = targets - &means;
        let alpha = solve(&shifted, &centred)?;
        let residual = &centred - &shifted.dot(&alpha);
        let norm = residual.iter().map(|r| r * r).sum::<f64>().sqrt();
        Some(Self {
            slack: norm / (2.0 * (fitted.len() as f64 * ridge).sqrt()),
            new: of(&new),
            new_cells: new.iter().map(|&row| cells[row].clone()).collect(),
            validation: of(validation),
            validation_cells: validation.iter().map(|&row| cells[row].clone()).collect(),
            fitted: inputs,
            kernel,
            ridge,
            gram,
            centred,
            means,
            alpha,
        })
    }

    pub(crate) fn rows(&self) -> f64 {
        self.fitted.nrows() as f64
    }

    /// Q, summed over the targets.
    pub(crate) fn quadratic_form(&self) -> f64 {
        (&self.alpha * &self.gram.dot(&self.alpha)).sum()
    }

    /// f at some inputs.
    fn exact(&self, inputs: &Array2<f64>) -> Array2<f64> {
        kernel_matrix(self.kernel, inputs, &self.fitted).dot(&self.alpha) + &self.means
    }

    /// f_s − f of the model at the new rows.
    pub(crate) fn new_differences(&self, predictor: &Predictor) -> Array2<f64> {
        self.predictions(predictor) - self.exact(&self.new)
    }

    /// f_s of the model at the new rows.
    pub(crate) fn predictions(&self, predictor: &Predictor) -> Array2<f64> {
        let rows: Vec<&[f64]> = self.new_cells.iter().map(Vec::as_slice).collect();
        predictor.predict(&rows)
    }

    /// The error bars of the model at the new rows.
    pub(crate) fn error_bars(&self, predictor: &Predictor) -> Option<Array2<f64>> {
        let rows: Vec<&[f64]> = self.new_cells.iter().map(Vec::as_slice).collect();
        predictor.error_bars(&rows)
    }

    /// f_s and f at the new rows, clipped to the range of the fitted targets.
    pub(crate) fn clipped_differences(&self, predictor: &Predictor) -> Array2<f64> {
        let (mut near, mut far) = (self.predictions(predictor), self.exact(&self.new));
        for (k, mean) in self.means.iter().enumerate() {
            let targets = self.centred.column(k).mapv(|y| y + mean);
            let low = targets.fold(f64::INFINITY, |least, y| least.min(*y));
            let high = targets.fold(f64::NEG_INFINITY, |most, y| most.max(*y));
            near.column_mut(k).mapv_inplace(|f| f.clamp(low, high));
            far.column_mut(k).mapv_inplace(|f| f.clamp(low, high));
        }
        near - far
    }

    /// The mean of (f_s − f)² over the validation rows; none without them.
    pub(crate) fn validation_distance(&self, predictor: &Predictor) -> Option<f64> {
        if self.validation.nrows() == 0 {
            return None;
        }
        let rows: Vec<&[f64]> = self.validation_cells.iter().map(Vec::as_slice).collect();
        let gaps = predictor.predict(&rows) - self.exact(&self.validation);
        Some(mean_square(&gaps))
    }

    /// The mean of (f_s − f)² over new rows, and over the fitted rows, for features drawn with another seed.
    pub(crate) fn redraw(&self, map: &FeatureMap, sampling: Sampling, seed: u64) -> Option<(f64, f64)> {
        let drawn = FeatureMap::sample(map.kernel, map.kind, sampling, seed, map.feature_count(), self.fitted.ncols());
        let projector = drawn.projector::<f64>();
        let features = projector.transform(self.fitted.view());
        let mut system = features.t().dot(&features) / self.rows();
        system.diag_mut().mapv_inplace(|value| value + self.ridge);
        let weights = solve(&system, &(features.t().dot(&self.centred) / self.rows()))?;
        let near = |inputs: &Array2<f64>| projector.transform(inputs.view()).dot(&weights) + &self.means;
        let new = near(&self.new) - self.exact(&self.new);
        let fitted = near(&self.fitted) - self.exact(&self.fitted);
        Some((mean_square(&new), mean_square(&fitted)))
    }

    /// Δ with (1−Δ)(K+nλI) ≼ K̃+nλI ≼ (1+Δ)(K+nλI) for the features of the model, from below.
    pub(crate) fn spectral_distance(&self, map: &FeatureMap) -> Option<f64> {
        let features = map.projector::<f64>().transform(self.fitted.view());
        let mut shifted = self.gram.clone();
        shifted.diag_mut().mapv_inplace(|value| value + self.rows() * self.ridge);
        let l = cholesky(&shifted)?;
        let half = forward(&l, &(features.dot(&features.t()) - &self.gram));
        Some(spectral_norm(&forward(&l, &half.t().to_owned())))
    }

    /// ‖Ξ − G‖ of the model's features, with Ξ taken over the new rows.
    pub(crate) fn moment_distance(&self, map: &FeatureMap) -> f64 {
        let projector = map.projector::<f64>();
        let moment = |inputs: &Array2<f64>| {
            let features = projector.transform(inputs.view());
            features.t().dot(&features) / inputs.nrows() as f64
        };
        spectral_norm(&(moment(&self.new) - moment(&self.fitted)))
    }
}

/// The mean over rows of the squares summed over targets.
pub(crate) fn mean_square(gaps: &Array2<f64>) -> f64 {
    gaps.iter().map(|gap| gap * gap).sum::<f64>() / gaps.nrows() as f64
}

/// Missing cells filled, shifted and scaled.
fn scaled(model: &FittedModel, rows: &[Vec<f64>]) -> Array2<f64> {
    let scaling = &model.inputs.scaling;
    Array2::from_shape_fn((rows.len(), scaling.fill.len()), |(i, j)| {
        let cell = if rows[i][j].is_nan() { scaling.fill[j] } else { rows[i][j] };
        (cell - scaling.offset[j]) * scaling.factor[j]
    })
}

fn kernel_matrix(kernel: Kernel, left: &Array2<f64>, right: &Array2<f64>) -> Array2<f64> {
    Array2::from_shape_fn((left.nrows(), right.nrows()), |(i, j)| value(kernel, left.row(i), right.row(j)))
}

/// k(x, y) by its definition.
fn value(kernel: Kernel, x: ArrayView1<f64>, y: ArrayView1<f64>) -> f64 {
    let gaps = || x.iter().zip(&y).map(|(x, y)| x - y);
    let distance = gaps().map(|gap| gap * gap).sum::<f64>().sqrt();
    match kernel {
        Kernel::Gaussian { bandwidth } => (-distance * distance / (2.0 * bandwidth * bandwidth)).exp(),
        Kernel::Laplace { bandwidth } => (-gaps().map(f64::abs).sum::<f64>() / bandwidth).exp(),
        Kernel::Matern { bandwidth, .. } => {
            let r = 3_f64.sqrt() * distance / bandwidth; // ν = 3/2 in every case
            (1.0 + r) * (-r).exp()
        }
        Kernel::Cauchy { bandwidth } => gaps().map(|gap| 1.0 / (1.0 + (gap / bandwidth).powi(2))).product(),
        Kernel::Angular => {
            let cosine = x.dot(&y) / (x.dot(&x) * y.dot(&y)).sqrt();
            std::f64::consts::FRAC_2_PI * cosine.clamp(-1.0, 1.0).asin()
        }
        Kernel::Spline { .. } | Kernel::Linear => unreachable!("no case has it"),
    }
}
