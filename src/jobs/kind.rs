//! What a job does, and what it is doing.

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    /// Fits a model to a data set.
    Train,
    /// Adds the rows of a data set to a model.
    Update,
    /// Compares a model with the exact kernel method.
    Certify,
    /// Compares ways to draw features; makes no model.
    Compare,
}

impl JobKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Train, Self::Update, Self::Certify, Self::Compare];

    /// Its name in the database and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Update => "update",
            Self::Certify => "certify",
            Self::Compare => "compare",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Where the passes of a job over its rows run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEngine {
    /// In the process of the service.
    Local,
    /// On Apache Spark.
    Spark,
}

impl JobEngine {
    /// Every engine.
    pub const ALL: [Self; 2] = [Self::Local, Self::Spark];

    /// Its name in the database and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Spark => "spark",
        }
    }

    /// The engine of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }
}

/// What a running job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobStage {
    /// Opens its data set.
    Start,
    /// Works on a stage of this name, one of those that the work knows.
    Work(&'static str),
    /// Stores the model and makes it available.
    Publish,
}

impl JobStage {
    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Work(name) => name,
            Self::Publish => "publish",
        }
    }
}
