//! The protocols that predict, and their routes.

/// A prediction protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `/api/v1`.
    Native,
    /// `/v2`, the Open Inference Protocol.
    InferenceV2,
    /// `/invocations`, as MLflow and SageMaker call it.
    Invocations,
}

impl Protocol {
    pub(super) const ALL: [Self; 3] = [Self::Native, Self::InferenceV2, Self::Invocations];

    /// The protocol that clients of a path speak.
    pub fn of_path(path: &str) -> Self {
        match path {
            "/v2" => Self::InferenceV2,
            "/invocations" => Self::Invocations,
            _ if path.starts_with("/v2/") => Self::InferenceV2,
            _ => Self::Native,
        }
    }

    /// The value of the label `protocol`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::InferenceV2 => "v2",
            Self::Invocations => "invocations",
        }
    }
}

/// A route that predicts. All of them take POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictionRoute {
    /// Native, by the newest version or an alias.
    Predict,
    /// Native, by a version.
    PredictVersion,
    /// Open Inference Protocol, by the newest version or an alias.
    Infer,
    /// Open Inference Protocol, by a version.
    InferVersion,
    /// MLflow and SageMaker, by the default model.
    Invocations,
}

impl PredictionRoute {
    /// Every route, in the order of the declaration.
    pub const ALL: [Self; 5] =
        [Self::Predict, Self::PredictVersion, Self::Infer, Self::InferVersion, Self::Invocations];

    /// The path with its parameters in braces, for the route table and for labels.
    pub fn path(self) -> &'static str {
        match self {
            Self::Predict => "/api/v1/models/{model}/predict",
            Self::PredictVersion => "/api/v1/models/{model}/versions/{version}/predict",
            Self::Infer => "/v2/models/{model}/infer",
            Self::InferVersion => "/v2/models/{model}/versions/{version}/infer",
            Self::Invocations => "/invocations",
        }
    }

    /// The protocol that is spoken there.
    pub fn protocol(self) -> Protocol {
        match self {
            Self::Predict | Self::PredictVersion => Protocol::Native,
            Self::Infer | Self::InferVersion => Protocol::InferenceV2,
            Self::Invocations => Protocol::Invocations,
        }
    }
}
