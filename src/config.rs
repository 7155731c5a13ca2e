//! Every knob, as a flag and as an environment variable.

mod memory;

pub(crate) use memory::memory_limit;

use clap::{Args, ValueEnum};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// How the service runs. Each limit's help says what it protects.
#[derive(Debug, Clone, Args)]
pub struct Config {
    /// Address to listen on. Loopback by default: there is no authentication, so whoever reaches the port may do
    /// anything.
    #[arg(long, env = "BOCHNER_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// Where data sets, models and the job queue are kept. One process at a time.
    #[arg(long, env = "BOCHNER_DATA_DIR", default_value = "./data")]
    pub data_dir: PathBuf,

    /// Seconds a connection may do nothing: between two requests, over the head of one, or over taking any of its
    /// answer. Protects sockets from clients that have gone away or take their time; longer than a proxy keeps its own.
    #[arg(long, env = "BOCHNER_CONNECTION_IDLE_SECONDS", default_value_t = 75, value_parser = at_least_one_u64)]
    pub connection_idle_seconds: u64,

    /// Training jobs that run at once. More share the same cores and memory, so each takes longer.
    #[arg(long, env = "BOCHNER_TRAINING_WORKERS", default_value_t = 1, value_parser = at_least_one)]
    pub training_workers: usize,

    /// Threads of one training job; all cores by default. Fewer leave room for predictions while training runs.
    #[arg(long, env = "BOCHNER_TRAINING_THREADS", default_value_t = available_cores(), value_parser = at_least_one)]
    pub training_threads: usize,

    /// Memory one training job may need by our estimate; by default half of what the process may use, 8 GiB at most.
    /// Protects the process from being killed for its memory: a larger job is refused before it starts.
    #[arg(long, env = "BOCHNER_TRAINING_MEMORY", default_value_t = memory_share(2, 8 << 30))]
    pub training_memory: Bytes,

    /// Jobs that may wait. Protects users from queues nobody will live to see the end of.
    #[arg(long, env = "BOCHNER_MAX_QUEUED_JOBS", default_value_t = 100)]
    pub max_queued_jobs: usize,

    /// Largest data set upload, after decompression. Protects the disk.
    #[arg(long, env = "BOCHNER_MAX_UPLOAD", default_value = "4GiB")]
    pub max_upload: Bytes,

    /// Uploads taken at once; each holds a thread and a file. Protects threads and disk bandwidth.
    #[arg(long, env = "BOCHNER_MAX_CONCURRENT_UPLOADS", default_value_t = 8, value_parser = at_least_one)]
    pub max_concurrent_uploads: usize,

    /// Seconds an upload may pause; beyond that it must bring 16 KiB a second. Protects upload slots from senders that
    /// have gone away or take their time.
    #[arg(long, env = "BOCHNER_UPLOAD_IDLE_SECONDS", default_value_t = 60)]
    pub upload_idle_seconds: u64,

    /// Columns of a data set. Protects memory: statistics are kept for each.
    #[arg(long, env = "BOCHNER_MAX_COLUMNS", default_value_t = 4096, value_parser = at_least_one)]
    pub max_columns: usize,

    /// Distinct values of a text column. Protects models from columns that are really identifiers: each value becomes
    /// an input of its own.
    #[arg(long, env = "BOCHNER_MAX_LEVELS", default_value_t = 1000, value_parser = at_least_one)]
    pub max_levels: usize,

    /// Largest JSON request body. Protects memory: it is held whole.
    #[arg(long, env = "BOCHNER_MAX_REQUEST", default_value = "32MiB")]
    pub max_request: Bytes,

    /// Memory for request bodies of more than 256 KiB, and numbers read from them while they come, that are held at once;
    /// more are refused. By default a sixteenth of what the process may use, 256 MiB at most. Protects memory.
    #[arg(long, env = "BOCHNER_MAX_REQUEST_MEMORY", default_value_t = memory_share(16, 256 << 20))]
    pub max_request_memory: Bytes,

    /// Numbers of one JSON answer: rows times outputs. Protects memory: the answer is held whole.
    #[arg(long, env = "BOCHNER_MAX_ANSWER_NUMBERS", default_value_t = 10_000_000, value_parser = at_least_one)]
    pub max_answer_numbers: usize,

    /// Memory for answers of more than 256 KiB that are on their way; more are refused. By default a sixteenth of what
    /// the process may use, 256 MiB at most. Protects memory from clients that take theirs slowly.
    #[arg(long, env = "BOCHNER_MAX_ANSWER_MEMORY", default_value_t = memory_share(16, 256 << 20))]
    pub max_answer_memory: Bytes,

    /// Rows of one table (CSV, ndjson, Arrow) to predict. Protects prediction threads.
    #[arg(long, env = "BOCHNER_MAX_TABLE_ROWS", default_value_t = 100_000_000, value_parser = at_least_one)]
    pub max_table_rows: usize,

    /// Largest answer to a table. Protects the disk: it waits there until the last row is read.
    #[arg(long, env = "BOCHNER_MAX_TABLE_ANSWER", default_value = "4GiB")]
    pub max_table_answer: Bytes,

    /// Rows of one prediction request. Protects other requests from waiting behind it.
    #[arg(long, env = "BOCHNER_MAX_PREDICTION_ROWS", default_value_t = 100_000, value_parser = at_least_one)]
    pub max_prediction_rows: usize,

    /// Tables (CSV, ndjson, Arrow) predicted at once; more are refused. Each holds a thread. Protects latency.
    #[arg(long, env = "BOCHNER_MAX_CONCURRENT_PREDICTIONS", default_value_t = 64, value_parser = at_least_one)]
    pub max_concurrent_predictions: usize,

    /// Threads that predict, apart from those that train and those that serve sockets; all cores by default.
    #[arg(long, env = "BOCHNER_PREDICTION_THREADS", default_value_t = available_cores(), value_parser = at_least_one)]
    pub prediction_threads: usize,

    /// Rows of concurrent requests that are computed together.
    #[arg(long, env = "BOCHNER_MAX_BATCH_ROWS", default_value_t = 256, value_parser = at_least_one)]
    pub max_batch_rows: usize,

    /// Microseconds a row may wait for company. With 0 rows are merged only while the prediction threads are busy,
    /// which costs nothing.
    #[arg(long, env = "BOCHNER_MAX_QUEUE_DELAY_US", default_value_t = 0)]
    pub max_queue_delay_us: u64,

    /// Rows that may wait for one model; more are refused at once. Protects latency and memory.
    #[arg(long, env = "BOCHNER_MAX_QUEUE_ROWS", default_value_t = 100_000, value_parser = at_least_one)]
    pub max_queue_rows: usize,

    /// A request of so many rows is computed by itself: it gains nothing from company.
    #[arg(long, env = "BOCHNER_BYPASS_ROWS", default_value_t = 128, value_parser = at_least_one)]
    pub bypass_rows: usize,

    /// Milliseconds a prediction may take; a request may ask for less with the header x-timeout-ms.
    #[arg(long, env = "BOCHNER_PREDICTION_TIMEOUT_MS", default_value_t = 30_000, value_parser = at_least_one_u64)]
    pub prediction_timeout_ms: u64,

    /// Features of a model. Protects memory and time: they grow with its square and cube.
    #[arg(long, env = "BOCHNER_MAX_FEATURES", default_value_t = 16_384, value_parser = at_least_two)]
    pub max_features: usize,

    /// Largest model file taken for import; by default an eighth of the memory the process may use, 1 GiB at most.
    /// Protects memory: it is held whole.
    #[arg(long, env = "BOCHNER_MAX_ARTIFACT", default_value_t = memory_share(8, 1 << 30))]
    pub max_artifact: Bytes,

    /// Model that /invocations asks, by name or as name@alias; the only one there is by default.
    #[arg(long, env = "BOCHNER_DEFAULT_MODEL")]
    pub default_model: Option<String>,

    /// Memory for models kept ready to predict; by default an eighth of what the process may use, 1 GiB at most. Beyond
    /// it the least recently used is dropped and read again when asked for.
    #[arg(long, env = "BOCHNER_MODEL_MEMORY", default_value_t = memory_share(8, 1 << 30))]
    pub model_memory: Bytes,

    /// Seconds from SIGTERM to the end: requests in flight finish, running jobs go back to the queue.
    #[arg(long, env = "BOCHNER_SHUTDOWN_GRACE_SECONDS", default_value_t = 20)]
    pub shutdown_grace_seconds: u64,

    /// What to log, as a tracing filter.
    #[arg(long, env = "BOCHNER_LOG", default_value = "info")]
    pub log: String,

    /// How to log.
    #[arg(long, env = "BOCHNER_LOG_FORMAT", default_value = "auto")]
    pub log_format: LogFormat,

    /// Print example requests once the service is up.
    #[arg(long)]
    pub welcome: bool,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people on a terminal, JSON elsewhere.
    Auto,
    /// For people.
    Human,
    /// One object a line.
    Json,
}

/// A number of bytes, written as `512`, `64KiB`, `32MiB` or `4GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let unit = match &text[digits..] {
            "" | "B" => 1,
            "KiB" | "K" => 1 << 10,
            "MiB" | "M" => 1 << 20,
            "GiB" | "G" => 1 << 30,
            other => return Err(format!("'{other}' is not a unit; use KiB, MiB or GiB")),
        };
        let number: u64 = text[..digits].parse().map_err(|_| "write a number, then KiB, MiB or GiB".to_owned())?;
        number.checked_mul(unit).map(Self).ok_or_else(|| "too large".to_owned())
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let whole = |(unit, _): &&(u64, &str)| self.0 > 0 && self.0.is_multiple_of(*unit);
        let (unit, name) = UNITS.iter().find(whole).unwrap_or(&(1, ""));
        write!(f, "{}{name}", self.0 / unit)
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    at_least(1, text)
}

fn at_least_one_u64(text: &str) -> Result<u64, String> {
    at_least(1, text).map(|number| number as u64)
}

fn at_least_two(text: &str) -> Result<usize, String> {
    at_least(2, text)
}

fn at_least(least: usize, text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number < least => Err(format!("must be at least {least}")),
        Ok(number) => Ok(number),
        Err(_) => Err("must be a whole number".into()),
    }
}

/// One of so many parts of the memory that the process may use, in whole MiB, and at most `most` bytes.
fn memory_share(parts: u64, most: u64) -> Bytes {
    Bytes((memory_limit() / parts).min(most) >> 20 << 20)
}

fn available_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!("512".parse(), Ok(Bytes(512)));
        assert_eq!("32MiB".parse(), Ok(Bytes(32 << 20)));
        assert_eq!("4G".parse(), Ok(Bytes(4 << 30)));
        for (bytes, text) in
            [(0, "0"), (1000, "1000"), (3 << 20, "3MiB"), (8 << 30, "8GiB"), ((2 << 30) + 1, "2147483649")]
        {
            assert_eq!(Bytes(bytes).to_string(), text);
            assert_eq!(text.parse(), Ok(Bytes(bytes)));
        }
        for wrong in ["", "MiB", "1.5GiB", "3 parsecs", "99999999999GiB"] {
            assert!(wrong.parse::<Bytes>().is_err(), "{wrong}");
        }
    }
}
