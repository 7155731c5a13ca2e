//! Features that were chosen by rows: the weights of their columns, and how they were chosen.

use super::{Numbers, converted};
use crate::features::DrawScales;
use crate::model::{FeatureTrial, FeatureTrials, Selection};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredScales<'a> {
    /// One per draw.
    factors: Numbers<'a>,
    largest: f64,
}

impl<'a> From<&'a DrawScales> for StoredScales<'a> {
    fn from(scales: &'a DrawScales) -> Self {
        Self { factors: (&scales.factors).into(), largest: scales.largest }
    }
}

impl From<StoredScales<'_>> for DrawScales {
    fn from(stored: StoredScales) -> Self {
        Self { factors: stored.factors.into_owned(), largest: stored.largest }
    }
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredTrials<'a> {
    fitted_rows: usize,
    tested_rows: usize,
    #[serde(borrow)]
    counts: Vec<StoredTrial<'a>>,
    #[serde(borrow)]
    samplings: Vec<StoredTrial<'a>>,
    enough: Option<usize>,
    feature_count: usize,
    sampling: &'a str,
}

#[derive(Serialize, Deserialize)]
struct StoredTrial<'a> {
    sampling: &'a str,
    features: usize,
    error: f64,
}

impl<'a> From<&'a FeatureTrial> for StoredTrial<'a> {
    fn from(trial: &'a FeatureTrial) -> Self {
        Self { sampling: &trial.sampling, features: trial.features, error: trial.error }
    }
}

impl From<StoredTrial<'_>> for FeatureTrial {
    fn from(stored: StoredTrial) -> Self {
        Self { sampling: stored.sampling.to_owned(), features: stored.features, error: stored.error }
    }
}

impl<'a> From<&'a FeatureTrials> for StoredTrials<'a> {
    fn from(trials: &'a FeatureTrials) -> Self {
        Self {
            fitted_rows: trials.fitted_rows,
            tested_rows: trials.tested_rows,
            counts: converted(&trials.counts),
            samplings: converted(&trials.samplings),
            enough: trials.enough,
            feature_count: trials.feature_count,
            sampling: &trials.sampling,
        }
    }
}

impl From<StoredTrials<'_>> for FeatureTrials {
    fn from(stored: StoredTrials) -> Self {
        Self {
            fitted_rows: stored.fitted_rows,
            tested_rows: stored.tested_rows,
            counts: converted(stored.counts),
            samplings: converted(stored.samplings),
            enough: stored.enough,
            feature_count: stored.feature_count,
            sampling: stored.sampling.to_owned(),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredSelection<'a> {
    candidates: usize,
    rows: usize,
    lambda: Option<f64>,
    groups: usize,
    score_quantiles: Numbers<'a>,
    effective_sample_size: f64,
    distinct_draws: usize,
    largest_weight: f64,
    degrees: Cow<'a, [(f64, f64)]>,
}

impl<'a> From<&'a Selection> for StoredSelection<'a> {
    fn from(selection: &'a Selection) -> Self {
        Self {
            candidates: selection.candidates,
            rows: selection.rows,
            lambda: selection.lambda,
            groups: selection.groups,
            score_quantiles: (&selection.score_quantiles).into(),
            effective_sample_size: selection.effective_sample_size,
            distinct_draws: selection.distinct_draws,
            largest_weight: selection.largest_weight,
            degrees: (&selection.degrees).into(),
        }
    }
}

impl From<StoredSelection<'_>> for Selection {
    fn from(stored: StoredSelection) -> Self {
        Self {
            candidates: stored.candidates,
            rows: stored.rows,
            lambda: stored.lambda,
            groups: stored.groups,
            score_quantiles: stored.score_quantiles.into_owned(),
            effective_sample_size: stored.effective_sample_size,
            distinct_draws: stored.distinct_draws,
            largest_weight: stored.largest_weight,
            degrees: stored.degrees.into_owned(),
        }
    }
}
