//! The plots that there are.

/// A plot of a version of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlotName {
    ErrorByFeatures,
    PredictedActual,
    Residuals,
    Roc,
    PrecisionRecall,
    LambdaPath,
    Spectrum,
    Leverage,
    Coverage,
    IntervalWidth,
    Reliability,
    Confusion,
    Importance,
    PartialDependence,
    MetricByRound,
    LearningCurve,
}

/// Why a plot is not there.
#[derive(Debug)]
pub(super) enum Absent {
    /// What it shows was not measured: why, and what to do.
    NotMeasured(String),
    /// The column that was asked for is not one of the model's.
    NoColumn(String),
    /// The target that was asked for is not one of the model's.
    NoTarget(String),
}

impl Absent {
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::NotMeasured(reason) | Self::NoColumn(reason) | Self::NoTarget(reason) => reason,
        }
    }
}

/// A plot is not there because of this.
pub(super) fn absent<T>(reason: &str) -> Result<T, Absent> {
    Err(Absent::NotMeasured(reason.to_owned()))
}

impl PlotName {
    /// In the order of a page.
    pub(super) const ALL: [Self; 16] = [
        Self::ErrorByFeatures,
        Self::PredictedActual,
        Self::Residuals,
        Self::LearningCurve,
        Self::Roc,
        Self::PrecisionRecall,
        Self::Importance,
        Self::PartialDependence,
        Self::Confusion,
        Self::Reliability,
        Self::Coverage,
        Self::IntervalWidth,
        Self::LambdaPath,
        Self::Spectrum,
        Self::Leverage,
        Self::MetricByRound,
    ];

    /// As in a path.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ErrorByFeatures => "error-by-features",
            Self::PredictedActual => "predicted-actual",
            Self::Residuals => "residuals",
            Self::Roc => "roc",
            Self::PrecisionRecall => "precision-recall",
            Self::LambdaPath => "lambda-path",
            Self::Spectrum => "spectrum",
            Self::Leverage => "leverage",
            Self::Coverage => "coverage",
            Self::IntervalWidth => "interval-width",
            Self::Reliability => "reliability",
            Self::Confusion => "confusion",
            Self::Importance => "importance",
            Self::PartialDependence => "partial-dependence",
            Self::MetricByRound => "metric-by-round",
            Self::LearningCurve => "learning-curve",
        }
    }

    /// The parameter that chooses what it shows, if it has one.
    pub(super) fn parameter(self) -> Option<&'static str> {
        match self {
            Self::PartialDependence => Some("column"),
            Self::PredictedActual | Self::Residuals => Some("target"),
            Self::ErrorByFeatures
            | Self::Roc
            | Self::PrecisionRecall
            | Self::LambdaPath
            | Self::Spectrum
            | Self::Leverage
            | Self::Coverage
            | Self::IntervalWidth
            | Self::Reliability
            | Self::Confusion
            | Self::Importance
            | Self::MetricByRound
            | Self::LearningCurve => None,
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plot| plot.name() == name)
    }

    /// Above the picture, unless that is more precise.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::ErrorByFeatures => "Distance to the exact method by number of features",
            Self::PredictedActual => "Predicted against actual values",
            Self::Residuals => "Residuals: what predictions miss",
            Self::Roc => "ROC curve: rows found against false alarms",
            Self::PrecisionRecall => "Precision and recall: right answers by rows found",
            Self::LambdaPath => "Error by strength of smoothing λ",
            Self::Spectrum => "Spectrum: how many directions count",
            Self::Leverage => "Largest leverage of a random feature",
            Self::Coverage => "Coverage: how often intervals hold",
            Self::IntervalWidth => "Width of intervals by probability",
            Self::Reliability => "Reliability: how sure, and how often right",
            Self::Confusion => "Confusion matrix: true and predicted labels",
            Self::Importance => "Importance of columns: what shuffling costs",
            Self::PartialDependence => "Partial dependence",
            Self::MetricByRound => "Learning which inputs matter: error by round",
            Self::LearningCurve => "Learning curve: error by training rows",
        }
    }
}
