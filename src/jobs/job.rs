//! One job and its states.

use super::{JobEngine, JobKind};
use crate::telemetry::TraceParent;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// Waits for a worker.
    Queued,
    /// A worker runs it.
    Running,
    /// It was asked to stop and has not stopped yet.
    Canceling,
    /// Ended with a result.
    Succeeded,
    /// Ended with an error.
    Failed,
    /// Stopped on request.
    Canceled,
}

impl JobStatus {
    /// Every status, in the order of a job's life.
    pub const ALL: [Self; 6] =
        [Self::Queued, Self::Running, Self::Canceling, Self::Succeeded, Self::Failed, Self::Canceled];

    /// Its name in the database and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Canceling => "canceling",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// The status of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Whether nothing more will happen.
    pub fn is_final(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Canceling => false,
            Self::Succeeded | Self::Failed | Self::Canceled => true,
        }
    }
}

/// Why a job failed, in words a user can act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// A stable code for programs.
    pub code: String,
    /// What happened, for people.
    pub detail: String,
}

/// A job to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    /// What to do.
    pub kind: JobKind,
    /// Where passes over the rows run.
    pub engine: JobEngine,
    /// Name of the model it makes.
    pub model: String,
    /// Id of the data set it reads.
    pub dataset: String,
    /// The checked spec of a training; the version of an update or certification.
    pub payload: Value,
    /// Who submitted it; at most so many jobs of one client wait.
    pub client: String,
    /// Submitting twice with the same key gives one job.
    pub idempotency_key: Option<String>,
    /// Of the request as it came; a key that comes again must come with the same one.
    pub fingerprint: String,
    /// The trace of the request.
    pub trace_parent: Option<TraceParent>,
}

/// A job as it stands in the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Ids sort by time of submission.
    pub id: String,
    /// What was asked for.
    pub request: NewJob,
    /// Where it stands.
    pub status: JobStatus,
    /// How many times it was started.
    pub attempt: u32,
    /// RFC 3339.
    pub created_at: String,
    /// When the last attempt began.
    pub started_at: Option<String>,
    /// When it ended.
    pub finished_at: Option<String>,
    /// The version and report of a job that succeeded.
    pub result: Option<Value>,
    /// Why it failed.
    pub error: Option<Failure>,
}

/// Which jobs are listed.
#[derive(Debug, Clone, Copy)]
pub struct JobPage<'a> {
    /// In this state.
    pub status: Option<JobStatus>,
    /// Of this model.
    pub model: Option<&'a str>,
    /// Older than the job of this id.
    pub after: Option<&'a str>,
    /// How many at most.
    pub limit: usize,
    /// Whether results have the reports; without them they have the version alone.
    pub reports: bool,
}
