//! What is kept of a training run: the fitted model, its file, and the register of all versions.

/// Raw rows to scaled inputs.
mod inputs;

/// Target cells to the numbers that are fitted, and back.
mod coding;

/// What the outputs of a model mean.
mod head;

/// The fitted model: an immutable value.
mod fitted;

/// How far observations may be from predictions.
mod spread;

/// A fitted model made ready to predict.
mod predictor;

/// The file format; the only file that names bincode.
mod artifact;

/// Names, versions and where their artifacts lie.
mod registry;

pub use artifact::{ArtifactError, decode, encode};
pub use coding::TargetCoding;
pub use fitted::{FitReport, FittedModel, Measured, MissingRule, Statistics, TargetErrors};
pub use head::Head;
pub use inputs::InputPipeline;
pub use predictor::Predictor;
pub use registry::{ModelRegistry, ModelVersion, RegistryError, check_model_name};
pub use spread::Spread;
