//! The recipe: a checked spec and rows in, a fitted model out. Pure and synchronous, observable and
//! cancellable; no HTTP, no disk.

/// Reading a JSON object field by field, with every problem placed.
mod fields;

/// What is minimised.
mod learner;

/// How λ and bandwidth are chosen.
mod rules;

/// What to train: raw JSON to a checked spec.
mod spec;

/// Choices of a spec that must fit each other.
mod choices;

/// What a spec demands of a data set.
mod demands;

/// What training costs before it starts.
mod cost;

/// What training is doing, and who watches.
mod stage;

/// Row blocks of one part of a data set.
mod rows;

/// Which rows a pass goes over.
mod sample;

/// Passes over the rows: moments, Gram matrix, errors.
mod passes;

/// The class and weight of every row.
mod classes;

/// Features kept in memory or made anew.
mod feature_source;

/// Errors of predicted numbers.
mod errors;

/// Errors of predicted labels.
mod label_scores;

/// Errors on held-out rows.
mod evaluation;

/// The bandwidth that a rule gives.
mod bandwidth;

/// λ and bandwidth by leave-one-out error.
mod search;

/// From row blocks to weights.
mod fit;

/// The exact kernel method as a model.
mod exact;

/// Classifiers with a convex loss.
mod classify;

/// The slope that turns decision values into probabilities.
mod calibration;

/// Scores that intervals and label sets rest on.
mod conformal;

/// The distance to the exact method, by leaving out features.
mod jackknife;

/// How much features that were not drawn would change.
mod fresh_features;

/// What a fit alone tells for the guarantees.
mod evidence;

/// The exact kernel solution next to the model.
mod certify;

/// One line per stage.
mod train;

/// What a model can be trusted for, measured later.
mod recertify;

/// What a plan is asked for.
mod plan;

/// Rows added to a model that is there already.
mod update;

pub use classes::ClassWeight;
pub use cost::{estimate_certification, estimate_memory};
pub use learner::Learner;
pub use plan::PlanRequest;
pub use recertify::recertify;
pub use rules::{BandwidthRule, GuaranteeSpec, IntervalRule, LARGEST_EXACT_ROWS, LambdaRule};
pub use spec::{SpecLimits, TrainSpec};
pub use stage::{Observer, Stage, TrainError, Trained};
pub use train::{Resources, train};
pub use update::{alignment, update};
