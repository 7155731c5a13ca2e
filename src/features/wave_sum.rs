//! A function as a sum of waves, f(x) = Σₖ aₖ cos(vₖᵀx) + bₖ sin(vₖᵀx), which explains itself in closed form: averages over
//! rows with one column fixed, and the share of each input in the difference of two values.

use super::{FeatureMap, Frequencies, Gradients, MapKind, Projector};
use crate::linalg::product_in_strips;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};
use std::f64::consts::SQRT_2;
use std::ops::Range;

/// f without its intercept, for k outputs.
pub struct WaveSum {
    /// A pair map with dense frequencies.
    map: FeatureMap,
    waves: Projector<f64>,
    /// 2m×k: those of cosines, then those of sines.
    weights: Array2<f64>,
}

impl WaveSum {
    /// Wᵀψ(Rx) as a function of x, R the root of a metric if there is one; none where ψ is not made of waves.
    pub fn new(map: &FeatureMap, weights: &Array2<f64>, root: Option<&Array2<f64>>) -> Option<Self> {
        let scales = map.column_scales(); // part of the weights here
        let scaled = Array1::from_shape_fn(weights.nrows(), |column| scales.get(column).copied().unwrap_or(1.0));
        let weights = weights * &scaled.insert_axis(Axis(1));
        let weights = match map.kind {
            MapKind::Pair => weights,
            // √(2/m)·cos(θ + b) = √(1/m)·(√2 cos b·cos θ − √2 sin b·sin θ).
            MapKind::Phase => {
                let part = |factor: &dyn Fn(f64) -> f64| {
                    let factors: Array1<f64> = map.phases.iter().map(|phase| SQRT_2 * factor(*phase)).collect();
                    &weights * &factors.insert_axis(Axis(1))
                };
                let (cosines, sines) = (part(&libm::cos), part(&|phase| -libm::sin(phase)));
                ndarray::concatenate(Axis(0), &[cosines.view(), sines.view()]).ok()?
            }
            MapKind::Sign | MapKind::Spline | MapKind::Linear | MapKind::Points => return None,
        };
        let frequencies = map.frequencies.written_out();
        let frequencies = match root {
            Some(root) => product_in_strips(frequencies.view(), root.view()),
            None => frequencies.into_owned(),
        };
        let map = FeatureMap {
            kind: MapKind::Pair,
            frequencies: Frequencies::Dense(frequencies),
            phases: Vec::new(),
            scales: None,
            kernel: map.kernel,
        };
        Some(Self { waves: map.projector(), map, weights })
    }

    /// ∇f.
    pub fn gradients(&self) -> Option<Gradients> {
        Gradients::new(&self.map, &self.weights)
    }

    /// k.
    pub fn output_count(&self) -> usize {
        self.weights.ncols()
    }

    /// f at rows of inputs, rows×k.
    pub fn values(&self, inputs: ArrayView2<f64>) -> Array2<f64> {
        self.waves.transform(inputs).dot(&self.weights)
    }

    /// The mean of f over the rows of `inputs` with the inputs in `column` set to each row of `values` (points×width):
    /// points×k. cos(θ + q) is a product of what depends on the rows and of what depends on the value, so the rows are
    /// gone over once for all values.
    pub fn partial_dependence(
        &self,
        inputs: ArrayView2<f64>,
        column: Range<usize>,
        values: ArrayView2<f64>,
    ) -> Array2<f64> {
        let m = self.map.draw_count();
        let mut rest = inputs.to_owned();
        rest.slice_mut(s![.., column.clone()]).fill(0.0);
        let rest = self.waves.transform(rest.view()).mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(2 * m));
        let mut alone = Array2::zeros((values.nrows(), inputs.ncols()));
        alone.slice_mut(s![.., column]).assign(&values);
        let alone = self.waves.transform(alone.view()) / self.map.amplitude(); // cos q, sin q
        let (cosines, sines) = (alone.slice(s![.., ..m]), alone.slice(s![.., m..]));
        let (mean_cosines, mean_sines) = (rest.slice(s![..m]), rest.slice(s![m..]));
        let of_cosines = &cosines * &mean_cosines - &sines * &mean_sines;
        let of_sines = &cosines * &mean_sines + &sines * &mean_cosines;
        of_cosines.dot(&self.weights.slice(s![..m, ..])) + of_sines.dot(&self.weights.slice(s![m.., ..]))
    }

    /// The share of each input in f(x) − f(x₀), d×k: the integral of the gradient along the line from the baseline x₀ to
    /// x. For one wave it is the derivative at the middle times sin(Δ/2)/(Δ/2), with Δ the change of its angle, so no
    /// integral is left and the shares add up to the difference.
    pub fn contributions(&self, input: ArrayView1<f64>, baseline: ArrayView1<f64>) -> Array2<f64> {
        let Frequencies::Dense(frequencies) = &self.map.frequencies else {
            return Array2::zeros((input.len(), self.output_count())); // always dense
        };
        let m = frequencies.nrows();
        let step = &input - &baseline;
        let middle = (&input + &baseline) / 2.0;
        let waves = self.waves.transform(middle.insert_axis(Axis(0)).view());
        let (cosines, sines) = (waves.slice(s![0, ..m]), waves.slice(s![0, m..]));
        let shrink = frequencies.dot(&step).mapv(|angle| sinc(angle / 2.0));
        let mut shares = Array2::zeros((input.len(), self.output_count()));
        for (mut shares, weights) in shares.columns_mut().into_iter().zip(self.weights.columns()) {
            let slopes = (&cosines * &weights.slice(s![m..]) - &sines * &weights.slice(s![..m])) * &shrink;
            let gradient: Array1<f64> = frequencies.t().dot(&slopes);
            shares.assign(&(gradient * &step));
        }
        shares
    }
}

/// sin(x)/x.
fn sinc(x: f64) -> f64 {
    if x.abs() < 1e-4 { 1.0 - x * x / 6.0 } else { libm::sin(x) / x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{DrawScales, Kernel, Sampling};
    use ndarray::array;

    fn inputs() -> Array2<f64> {
        Array2::from_shape_fn((30, 4), |(i, j)| ((i as f64 + 1.0) * 0.37 * (j as f64 + 1.3)).fract() * 3.0 - 1.5)
    }

    /// Every map of waves, with a metric and without.
    fn functions() -> Vec<(FeatureMap, Array2<f64>, Option<Array2<f64>>)> {
        let root = array![[1.2, 0.3, 0.0, 0.1], [0.3, 0.8, 0.2, 0.0], [0.0, 0.2, 0.5, 0.0], [0.1, 0.0, 0.0, 1.5]];
        let mut functions = Vec::new();
        for (kind, sampling) in [
            (MapKind::Pair, Sampling::Plain),
            (MapKind::Phase, Sampling::Orthogonal),
            (MapKind::Pair, Sampling::Structured),
        ] {
            let map = FeatureMap::sample(Kernel::Gaussian { bandwidth: 1.1 }, kind, sampling, 5, 60, 4);
            let weights = Array2::from_shape_fn((60, 2), |(i, j)| ((i * 7 + j * 3) % 13) as f64 - 6.0);
            functions.extend([None, Some(root.clone())].map(|root| (map.clone(), weights.clone(), root)));
            let factors: Vec<f64> = (0..map.draw_count()).map(|draw| 0.5 + (draw % 3) as f64).collect();
            let scales = Some(DrawScales { factors, largest: 2.5 });
            functions.push((FeatureMap { scales, ..map }, weights, None));
        }
        functions
    }

    /// ψ on the inputs of the metric, as training has it.
    fn plainly(
        (map, weights, root): &(FeatureMap, Array2<f64>, Option<Array2<f64>>),
        inputs: &Array2<f64>,
    ) -> Array2<f64> {
        let inputs = root.as_ref().map_or_else(|| inputs.clone(), |root| inputs.dot(root));
        map.projector::<f64>().transform(inputs.view()).dot(weights)
    }

    fn sum_of((map, weights, root): &(FeatureMap, Array2<f64>, Option<Array2<f64>>)) -> WaveSum {
        WaveSum::new(map, weights, root.as_ref()).unwrap()
    }

    /// By setting the column in every row, one value after the other.
    #[test]
    fn partial_dependence_is_the_mean_over_rows() {
        let values = array![[0.4, -1.0], [2.0, 0.0], [-0.7, 0.3]];
        for function in functions() {
            let sum = sum_of(&function);
            let found = sum.partial_dependence(inputs().view(), 1..3, values.view());
            for (value, found) in values.rows().into_iter().zip(found.rows()) {
                let mut rows = inputs();
                rows.slice_mut(s![.., 1..3]).assign(&value);
                let expected = plainly(&function, &rows).mean_axis(Axis(0)).unwrap();
                assert!((&found - &expected).iter().all(|gap| gap.abs() < 1e-10), "{found} {expected}");
            }
            assert!((sum.values(inputs().view()) - plainly(&function, &inputs())).iter().all(|gap| gap.abs() < 1e-10));
        }
    }

    #[test]
    fn contributions_add_up_and_are_integrals_of_gradients() {
        let baseline = array![0.2, -0.1, 0.0, 0.4];
        for function in functions() {
            let sum = sum_of(&function);
            let gradients = sum.gradients().unwrap();
            let at_baseline = plainly(&function, &baseline.clone().insert_axis(Axis(0)));
            for (input, value) in inputs().rows().into_iter().zip(plainly(&function, &inputs()).rows()) {
                let shares = sum.contributions(input, baseline.view());
                let total = shares.sum_axis(Axis(0)) + at_baseline.row(0);
                assert!((&total - &value).iter().all(|gap| gap.abs() < 1e-10), "{total} {value}");
                let step = &input - &baseline;
                let points = 400;
                let line = Array2::from_shape_fn((points, 4), |(i, j)| {
                    baseline[j] + step[j] * (i as f64 + 0.5) / points as f64
                });
                for (output, gradient) in gradients.at(line.view()).iter().enumerate() {
                    let expected = gradient.mean_axis(Axis(0)).unwrap() * &step;
                    assert!((&shares.column(output) - &expected).iter().all(|gap| gap.abs() < 1e-2), "{shares}");
                }
            }
            let nothing = sum.contributions(baseline.view(), baseline.view());
            assert!(nothing.iter().all(|share| *share == 0.0));
        }
    }
}
