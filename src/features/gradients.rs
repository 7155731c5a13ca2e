//! Gradients of a function on waves: for Wᵀψ(x) with ψ made of cosines of angles vᵀx, ∇f(x) = Vᵀt(x), where t holds the
//! derivatives by the angles.

use super::{FeatureMap, MapKind, Projector};
use crate::linalg::product_in_strips;
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};
use std::f64::consts::FRAC_PI_2;

/// A map and weights on it, ready for derivatives.
pub struct Gradients {
    kind: MapKind,
    /// The waves; of a phase map, moved on by a quarter of a turn, which is their derivative.
    waves: Projector<f64>,
    /// W, s×k.
    weights: Array2<f64>,
    /// How fast each angle changes with each input, m×d.
    slopes: Array2<f64>,
}

impl Gradients {
    /// None where ψ is not made of waves.
    pub fn new(map: &FeatureMap, weights: &Array2<f64>) -> Option<Self> {
        Self::with_slopes(map, weights, map.frequencies.written_out().into_owned())
    }

    /// Derivatives by other coordinates than the inputs of the map: `slopes` (m×d) says how fast angles change with them.
    pub fn with_slopes(map: &FeatureMap, weights: &Array2<f64>, slopes: Array2<f64>) -> Option<Self> {
        let waves = match map.kind {
            MapKind::Pair => map.projector(),
            MapKind::Phase => {
                let phases = map.phases.iter().map(|phase| phase + FRAC_PI_2).collect();
                FeatureMap { phases, ..map.clone() }.projector()
            }
            MapKind::Sign | MapKind::Spline | MapKind::Linear | MapKind::Points => return None,
        };
        Some(Self { kind: map.kind, waves, weights: weights.clone(), slopes })
    }

    /// k, the number of outputs.
    pub fn output_count(&self) -> usize {
        self.weights.ncols()
    }

    /// ∇ of every output at every row of `inputs`, in the coordinates of the map: k matrices of rows×d.
    pub fn at(&self, inputs: ArrayView2<f64>) -> Vec<Array2<f64>> {
        let waves = self.waves.transform(inputs); // rows×s
        let of_output = |weights| product_in_strips(self.by_angles(&waves, weights).view(), self.slopes.view());
        self.weights.columns().into_iter().map(of_output).collect()
    }

    /// Derivatives by the angles, rows×m.
    fn by_angles(&self, waves: &Array2<f64>, weights: ArrayView1<f64>) -> Array2<f64> {
        let weights = weights.insert_axis(Axis(0)); // 1×s
        if self.kind == MapKind::Phase {
            return waves * &weights;
        }
        let m = self.slopes.nrows();
        let (cosines, sines) = (waves.slice(s![.., ..m]), waves.slice(s![.., m..]));
        &cosines * &weights.slice(s![.., m..]) - &sines * &weights.slice(s![.., ..m])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{Kernel, Sampling};

    const STEP: f64 = 1e-5;

    /// Central differences of the function itself.
    #[test]
    fn gradients_are_the_limits_of_differences() {
        let inputs = Array2::from_shape_fn((5, 3), |(i, j)| ((i * 7 + j * 3) % 5) as f64 * 0.4 - 0.7);
        for kind in [MapKind::Pair, MapKind::Phase] {
            for kernel in [Kernel::Gaussian { bandwidth: 1.2 }, Kernel::Matern { bandwidth: 0.9, nu: 2.5 }] {
                let map = FeatureMap::sample(kernel, kind, Sampling::Plain, 3, 40, 3);
                let weights = Array2::from_shape_fn((40, 2), |(i, j)| ((i * 5 + j) % 11) as f64 - 5.0);
                let value = |inputs: &Array2<f64>| map.projector::<f64>().transform(inputs.view()).dot(&weights);
                let found = Gradients::new(&map, &weights).unwrap().at(inputs.view());
                for input in 0..3 {
                    let moved = |by: f64| {
                        let mut moved = inputs.clone();
                        moved.column_mut(input).mapv_inplace(|value| value + by);
                        value(&moved)
                    };
                    let differences = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
                    for ((row, output), difference) in differences.indexed_iter() {
                        let gap = (found[output][[row, input]] - difference).abs();
                        assert!(gap < 1e-6 * (1.0 + difference.abs()), "{kind:?} {kernel:?}: {gap}");
                    }
                }
            }
        }
    }

    #[test]
    fn functions_without_waves_have_none() {
        let map = FeatureMap::sample(Kernel::Angular, MapKind::Sign, Sampling::Plain, 0, 4, 2);
        assert!(Gradients::new(&map, &Array2::zeros((4, 1))).is_none());
    }
}
