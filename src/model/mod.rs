//! What is kept of a training run: the fitted model, its file, and the registry of all versions.

/// Models on disk: versions, aliases, artifacts.
mod store;

/// Raw rows to scaled inputs.
mod inputs;

/// Target cells to the numbers that are fitted, and back.
mod coding;

/// Decision values to labels and probabilities.
mod labels;

/// What the outputs of a model mean.
mod head;

/// The report of a fit.
mod report;

/// What a model tells about its columns.
mod insight;

/// How features were chosen by rows.
mod selection;

/// The fitted model: an immutable value.
mod fitted;

/// The description of a model.
mod description;

/// One screen about a model.
mod summary;

/// The predictive spread.
mod spread;

/// How much predictions depend on the draw of the features.
mod error_bars;

/// The function of a model, made ready to compute.
mod function;

/// A fitted model made ready to predict.
mod predictor;

/// The file formats; the only folder that names bincode.
mod artifact;

/// A fitted model as an ONNX file.
mod onnx;

pub use artifact::soundness::check_size;
pub use artifact::{ARTIFACT_HEADER, ArtifactError, ArtifactHeader};
pub use artifact::{artifact_length, decode, encode, read_artifact, read_header};
pub use coding::TargetCoding;
pub use error_bars::ErrorBars;
pub use fitted::{ExactScore, FittedModel, Measured, MissingRule, Statistics};
pub use function::{Extras, Function, Predictions, Scorer};
pub use head::Head;
pub use inputs::{ColumnRange, ColumnRanges, InputPipeline};
pub use insight::contributions::Contributions;
pub use insight::cross_validation::{CrossValidation, Fold, Measure};
pub use insight::explanations::{ColumnExplanation, Explanations, Permutation};
pub use insight::held_out::{HeldOutRow, HeldOutSample, MeasuredCoverage};
pub use insight::learner_choice::LearnerChoice;
pub use insight::learning_curve::LearningCurve;
pub use insight::metric::{MetricKind, MetricReport, MetricRound};
pub use insight::ranking::LabelRanking;
pub use insight::search::{SearchCandidate, SearchFinals, SearchReport};
pub use labels::{Labels, largest_value};
pub use onnx::{OnnxError, to_onnx};
pub use predictor::Predictor;
pub use report::{
    ClassRowCounts, ClassifierReport, ErrorReport, ExactReport, FeatureSearch, FitReport, LabelErrors, LossPoint,
    NumberErrors, ReliabilityBin, RidgeReport, SolverReport, TargetErrors,
};
pub use selection::{FeatureTrial, FeatureTrials, SCORE_SHARES, Selection, effective_sample_size, score_quantiles};
pub use spread::Spread;
pub use store::error::RegistryError;
pub use store::registry::{ModelRegistry, StoredArtifact};
pub use store::scores::{ScoresByVersion, VersionScores};
pub use store::version::{Imported, ModelVersion, check_alias, check_model_name, check_model_reference};
