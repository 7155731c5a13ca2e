//! Draws from the capped density, whose width follows the range of the inputs. [A, §6]

use super::Chosen;
use crate::dataset::Part;
use crate::features::{CappedDensity, CappedDraws, FeatureMap, Frequencies, Kernel};
use crate::model::{Selection, effective_sample_size};
use crate::training::TrainSpec;
use crate::training::fit::search::CodedRows;
use crate::training::stage::{Stage, TrainError};
use std::f64::consts::PI;

pub(super) fn choose(rows: &CodedRows, spec: &TrainSpec, kernel: Kernel) -> Result<Chosen, TrainError> {
    rows.run.tick(Stage::Choose, 0.0)?;
    let n = rows.run.rows.count(Part::Training);
    let lambda = spec.pool.lambda.or_else(|| spec.resolve_lambda(n)).unwrap_or(1.0 / n as f64);
    let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); rows.inputs.input_dim()];
    rows.run.for_each_input(rows.inputs, |row| {
        for (range, value) in ranges.iter_mut().zip(row) {
            *range = (range.0.min(*value), range.1.max(*value));
        }
    })?;
    let bandwidth = kernel.bandwidth().unwrap_or(1.0);
    let density = |(low, high): &(f64, f64)| {
        CappedDensity::new(spec.pool.constants, 0.5 * (high - low) / (2.0 * PI * bandwidth), 1.0 / lambda)
    };
    let densities: Option<Vec<CappedDensity>> = ranges.iter().map(density).collect();
    let densities = densities.ok_or_else(|| {
        TrainError::Data(format!(
            "the paper's constants of sampling capped need a lambda below 1, and it is {lambda}; use constants practical"
        ))
    })?;
    let draws = spec.feature_count / spec.map.columns_per_draw();
    let CappedDraws { frequencies, scales } = CappedDraws::sample(kernel, &densities, spec.seed, draws);
    let weights: Vec<f64> = scales.factors.iter().map(|factor| factor * factor).collect();
    let selection = Selection {
        candidates: 0,
        rows: n,
        lambda: Some(lambda),
        groups: 1,
        score_quantiles: Vec::new(),
        effective_sample_size: effective_sample_size(&weights),
        distinct_draws: draws,
        largest_weight: scales.largest * scales.largest,
        degrees: Vec::new(),
    };
    let plain = spec.sample_map(kernel, spec.feature_count, rows.inputs.input_dim());
    let map = FeatureMap { frequencies: Frequencies::Dense(frequencies), scales: Some(scales), ..plain };
    rows.run.tick(Stage::Choose, 1.0)?;
    Ok(Chosen { map, selection: Some(selection), pool: None })
}
