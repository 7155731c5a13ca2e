//! What is kept of a training run: the fitted model, its file, and the register of all versions.

/// Raw rows to scaled inputs.
mod inputs;

/// Target cells to the numbers that are fitted, and back.
mod coding;

/// Decision values to labels and probabilities.
mod labels;

/// What the outputs of a model mean.
mod head;

/// How a fit went.
mod report;

/// The fitted model: an immutable value.
mod fitted;

/// How far observations may be from predictions.
mod spread;

/// How much predictions depend on the draw of the features.
mod error_bars;

/// A fitted model made ready to predict.
mod predictor;

/// The file format; the only file that names bincode.
mod artifact;

/// Names, versions and where their artifacts lie.
mod registry;

pub use artifact::{ArtifactError, decode, encode};
pub use coding::TargetCoding;
pub use error_bars::ErrorBars;
pub use fitted::{FittedModel, Measured, MissingRule, Statistics};
pub use head::Head;
pub use inputs::InputPipeline;
pub use labels::Labels;
pub use predictor::Predictor;
pub use registry::{ModelRegistry, ModelVersion, RegistryError, check_model_name};
pub use report::{
    ClassRowCounts, ClassifierReport, ErrorReport, ExactReport, FeatureSearch, FitReport, LabelErrors, LossPoint,
    NumberErrors, ReliabilityBin, RidgeReport, SolverReport, TargetErrors,
};
pub use spread::Spread;
