//! Every setting, as a flag and as an environment variable.

/// A file of settings.
pub(crate) mod file;

/// Who may use the service, and how much.
mod access;

/// Tables in files, and the cluster.
mod cluster;
mod memory;

/// Folders that only a cluster can read.
mod remote_uri;

pub use access::AccessConfig;
pub(crate) use access::share_of_one;
pub use cluster::{AllowedLocation, ClusterConfig, SparkConfig, SparkReader};
pub(crate) use memory::memory_limit;
pub use remote_uri::RemoteUri;

use clap::{Args, ValueEnum};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// How the service runs. Each limit's help says what it protects.
#[derive(Debug, Clone, Args)]
pub struct Config {
    /// File of settings in TOML, one key for each flag, with _ for -: max_upload = "1GiB". Flags and environment
    /// variables win over it. SIGHUP reads its `log` again.
    #[arg(long, env = "BOCHNER_CONFIG")]
    pub config: Option<PathBuf>,

    /// Address to listen on. Beyond loopback, keys are needed (--api-keys-file).
    #[arg(long, env = "BOCHNER_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// The program that reads Parquet and Arrow uploads in a child process: the binary sets it to itself. Without it, such
    /// uploads are refused.
    #[arg(skip)]
    pub program: Option<PathBuf>,

    /// Who may do what, and how much of it.
    #[command(flatten)]
    pub access: AccessConfig,

    /// Tables in files that stay where they are, and the cluster.
    #[command(flatten)]
    pub cluster: ClusterConfig,

    /// Hosts that the service answers for in addition to loopback and to the address it listens on, separated by commas,
    /// without ports: the names under which clients or a proxy reach it. A web page that resolves its own name to this
    /// address is refused, and so are requests of pages from hosts that are not listed.
    #[arg(long, env = "BOCHNER_ALLOWED_HOSTS", value_delimiter = ',', value_parser = host_name)]
    pub allowed_hosts: Vec<String>,

    /// Let clients load and unload models by /v2/repository/models/{model}/load and unload. An unloaded model answers
    /// nobody.
    #[arg(long, env = "BOCHNER_ALLOW_MODEL_CONTROL")]
    pub allow_model_control: bool,

    /// Directory for datasets, models and the job queue. Only one process at a time can use it.
    #[arg(long, env = "BOCHNER_DATA_DIR", default_value = "./data")]
    pub data_dir: PathBuf,

    /// Most bytes of all files in the data directory. Less --min-free-disk, more uploads, imports and jobs are refused
    /// with 507, and queued jobs wait; predictions go on. Default: as much as the disk has. Protects what else is on the
    /// disk.
    #[arg(long, env = "BOCHNER_MAX_DISK")]
    pub max_disk: Option<Bytes>,

    /// Bytes of the disk, and of --max-disk, that are kept free. Default: a twentieth of the file system, at most 1 GiB.
    /// Protects deletions, and everything else that must work on a full disk.
    #[arg(long, env = "BOCHNER_MIN_FREE_DISK")]
    pub min_free_disk: Option<Bytes>,

    /// Finished jobs that are kept; older ones are deleted. Models stay. Default: all.
    #[arg(long, env = "BOCHNER_KEEP_JOBS")]
    pub keep_jobs: Option<usize>,

    /// Days that finished jobs are kept. Models stay. Default: for ever.
    #[arg(long, env = "BOCHNER_KEEP_JOB_DAYS", value_parser = at_least_one_u64)]
    pub keep_job_days: Option<u64>,

    /// Versions of each model that are kept; older ones without an alias are deleted, with their files. Default: all.
    #[arg(long, env = "BOCHNER_KEEP_VERSIONS", value_parser = at_least_one)]
    pub keep_versions: Option<usize>,

    /// Days that versions without an alias are kept; the newest of each model stays. Default: for ever.
    #[arg(long, env = "BOCHNER_KEEP_VERSION_DAYS", value_parser = at_least_one_u64)]
    pub keep_version_days: Option<u64>,

    /// Idle timeout of connections in seconds: between requests, and while a client does not read its response. Protects sockets from clients that are gone or too slow. Keep it longer than the idle
    /// timeout of a proxy in front.
    #[arg(long, env = "BOCHNER_CONNECTION_IDLE_SECONDS", default_value_t = 75, value_parser = at_least_one_u64)]
    pub connection_idle_seconds: u64,

    /// Seconds in which the head of a request must arrive. Protects connections from clients that send it byte by byte.
    #[arg(long, env = "BOCHNER_HEAD_TIMEOUT_SECONDS", default_value_t = 20, value_parser = at_least_one_u64)]
    pub head_timeout_seconds: u64,

    /// Connections that are open at the same time, at most as many as the limit of open files leaves room for. More are
    /// answered with 503, except for health checks. Protects memory and open files.
    #[arg(long, env = "BOCHNER_MAX_CONNECTIONS", default_value_t = 4096, value_parser = at_least_one)]
    pub max_connections: usize,

    /// Connections of one client address that are open at the same time. Default: three quarters of all. Protects other
    /// clients; a proxy counts as one.
    #[arg(long, env = "BOCHNER_MAX_CONNECTIONS_PER_ADDRESS", value_parser = at_least_one)]
    pub max_connections_per_address: Option<usize>,

    /// Training jobs that run at the same time. They share cores and memory, so each takes longer.
    #[arg(long, env = "BOCHNER_TRAINING_WORKERS", default_value_t = 1, value_parser = at_least_one)]
    pub training_workers: usize,

    /// Threads of one training job. The default is all cores; fewer leave cores to predictions.
    #[arg(long, env = "BOCHNER_TRAINING_THREADS", default_value_t = available_cores(), value_parser = at_least_one)]
    pub training_threads: usize,

    /// Memory that one training job may need, by estimate. Default: half of the memory limit of the process, at most
    /// 8 GiB. Protects the process from running out of memory: a job that needs more is refused before it starts.
    #[arg(long, env = "BOCHNER_TRAINING_MEMORY", default_value_t = memory_share(2, 8 << 30))]
    pub training_memory: Bytes,

    /// Jobs that may wait in the queue; more are refused with 503. Protects users from waiting without an end in sight.
    #[arg(long, env = "BOCHNER_MAX_QUEUED_JOBS", default_value_t = 100)]
    pub max_queued_jobs: usize,

    /// Seconds that a job may run; then it fails with the code time_limit. 0 is no limit. Protects the queue from a job
    /// that would never let the next one start.
    #[arg(long, env = "BOCHNER_MAX_JOB_SECONDS", default_value_t = 86_400)]
    pub max_job_seconds: u64,

    /// Largest dataset upload, after decompression. Protects the disk.
    #[arg(long, env = "BOCHNER_MAX_UPLOAD", default_value = "4GiB")]
    pub max_upload: Bytes,

    /// Uploads that are read at the same time; each uses a thread and a file. Protects threads and disk bandwidth.
    #[arg(long, env = "BOCHNER_MAX_CONCURRENT_UPLOADS", default_value_t = 8, value_parser = at_least_one)]
    pub max_concurrent_uploads: usize,

    /// Seconds that an upload may pause in total before it must average 16 KiB per second. Protects upload slots from
    /// clients that are gone or too slow.
    #[arg(long, env = "BOCHNER_UPLOAD_IDLE_SECONDS", default_value_t = 60)]
    pub upload_idle_seconds: u64,

    /// Most columns of a dataset. Protects memory: statistics are kept for each column.
    #[arg(long, env = "BOCHNER_MAX_COLUMNS", default_value_t = 4096, value_parser = at_least_one)]
    pub max_columns: usize,

    /// Most cells of a dataset: rows times columns. Protects the disk: a cell takes eight bytes there, however few it had
    /// in the upload.
    #[arg(long, env = "BOCHNER_MAX_CELLS", default_value_t = 1 << 30, value_parser = at_least_one)]
    pub max_cells: usize,

    /// Most distinct values of a text column; in tables of more than 100 columns fewer, so that there are at most a million
    /// or 1,000 a column. Protects memory: models keep every value.
    #[arg(long, env = "BOCHNER_MAX_LEVELS", default_value_t = 10_000, value_parser = at_least_one)]
    pub max_levels: usize,

    /// Largest JSON request body. Protects memory: the whole body is held in memory.
    #[arg(long, env = "BOCHNER_MAX_REQUEST", default_value = "32MiB")]
    pub max_request: Bytes,

    /// Memory for all request bodies over 256 KiB together, including the numbers parsed from them while they arrive;
    /// beyond it requests are refused with 503. Default: a sixteenth of the memory limit, at most 256 MiB.
    #[arg(long, env = "BOCHNER_MAX_REQUEST_MEMORY", default_value_t = memory_share(16, 256 << 20))]
    pub max_request_memory: Bytes,

    /// Most numbers in one JSON response: rows times outputs. Protects memory: the whole response is held in memory.
    #[arg(long, env = "BOCHNER_MAX_ANSWER_NUMBERS", default_value_t = 10_000_000, value_parser = at_least_one)]
    pub max_answer_numbers: usize,

    /// Memory for all responses over 256 KiB that are being sent; beyond it requests are refused with 503. Default: a
    /// sixteenth of the memory limit, at most 256 MiB. Protects memory from clients that read slowly.
    #[arg(long, env = "BOCHNER_MAX_ANSWER_MEMORY", default_value_t = memory_share(16, 256 << 20))]
    pub max_answer_memory: Bytes,

    /// Most rows of one table (CSV, JSON lines, Arrow) to predict. Protects prediction threads.
    #[arg(long, env = "BOCHNER_MAX_TABLE_ROWS", default_value_t = 100_000_000, value_parser = at_least_one)]
    pub max_table_rows: usize,

    /// Largest response to a table. Protects the disk: the response is kept there until the last row has been read.
    #[arg(long, env = "BOCHNER_MAX_TABLE_ANSWER", default_value = "4GiB")]
    pub max_table_answer: Bytes,

    /// Most rows of one JSON prediction request. Protects other requests from waiting behind it.
    #[arg(long, env = "BOCHNER_MAX_PREDICTION_ROWS", default_value_t = 100_000, value_parser = at_least_one)]
    pub max_prediction_rows: usize,

    /// Tables (CSV, JSON lines, Arrow) that are predicted at the same time; more are refused with 503. Each uses a
    /// thread. Protects latency.
    #[arg(long, env = "BOCHNER_MAX_CONCURRENT_PREDICTIONS", default_value_t = 64, value_parser = at_least_one)]
    pub max_concurrent_predictions: usize,

    /// Threads that compute predictions, separate from those of training and of the network. The default is all cores.
    #[arg(long, env = "BOCHNER_PREDICTION_THREADS", default_value_t = available_cores(), value_parser = at_least_one)]
    pub prediction_threads: usize,

    /// Most rows of concurrent requests that are computed in one batch.
    #[arg(long, env = "BOCHNER_MAX_BATCH_ROWS", default_value_t = 256, value_parser = at_least_one)]
    pub max_batch_rows: usize,

    /// Microseconds a row may wait to be batched with others; timed in steps of one millisecond. With 0 rows are
    /// batched only while the prediction threads are busy, which costs nothing.
    #[arg(long, env = "BOCHNER_MAX_QUEUE_DELAY_US", default_value_t = 0)]
    pub max_queue_delay_us: u64,

    /// Rows that may wait for one model; beyond it requests are refused with 503. Protects latency and memory.
    #[arg(long, env = "BOCHNER_MAX_QUEUE_ROWS", default_value_t = 100_000, value_parser = at_least_one)]
    pub max_queue_rows: usize,

    /// A request of so many rows is computed by itself: it gains nothing from batching.
    #[arg(long, env = "BOCHNER_BYPASS_ROWS", default_value_t = 128, value_parser = at_least_one)]
    pub bypass_rows: usize,

    /// Deadline of a prediction in milliseconds. A request can set a shorter one with the header x-timeout-ms.
    #[arg(long, env = "BOCHNER_PREDICTION_TIMEOUT_MS", default_value_t = 30_000, value_parser = at_least_one_u64)]
    pub prediction_timeout_ms: u64,

    /// Most features of a model. Protects memory and time, which grow with the square and the cube of this number.
    #[arg(long, env = "BOCHNER_MAX_FEATURES", default_value_t = 16_384, value_parser = at_least_two)]
    pub max_features: usize,

    /// Largest model file that can be imported. Default: an eighth of the memory limit, at most 1 GiB. Protects memory:
    /// the whole file is held in memory.
    #[arg(long, env = "BOCHNER_MAX_ARTIFACT", default_value_t = memory_share(8, 1 << 30))]
    pub max_artifact: Bytes,

    /// Model that answers /invocations, as name or name@alias. Without it, the only model if there is exactly one.
    #[arg(long, env = "BOCHNER_DEFAULT_MODEL")]
    pub default_model: Option<String>,

    /// Memory of the model cache. Default: an eighth of the memory limit, at most 1 GiB. Beyond it the least recently used
    /// model is dropped and read again from disk when a request needs it.
    #[arg(long, env = "BOCHNER_MODEL_MEMORY", default_value_t = memory_share(8, 1 << 30))]
    pub model_memory: Bytes,

    /// Seconds from SIGTERM until no new connections are accepted. Meanwhile /readyz answers 503 and everything else is
    /// served, so that load balancers have time to notice.
    #[arg(long, env = "BOCHNER_DRAIN_DELAY", default_value_t = 5)]
    pub drain_delay: u64,

    /// Seconds from the end of --drain-delay to exit. Requests in flight finish, and running jobs go back to the queue.
    #[arg(long, env = "BOCHNER_SHUTDOWN_GRACE_SECONDS", default_value_t = 20)]
    pub shutdown_grace_seconds: u64,

    /// Versions of models that have metrics of their own; further ones are counted together, with the labels
    /// model="other" and version="other". Protects the monitoring: each version that is used takes about 100 series.
    #[arg(long, env = "BOCHNER_MAX_METRIC_VERSIONS", default_value_t = 200)]
    pub max_metric_versions: usize,

    /// Log filter in the syntax of tracing-subscriber, such as info or bochner=debug,warn.
    #[arg(long, env = "BOCHNER_LOG", default_value = "info")]
    pub log: String,

    /// Format of log lines.
    #[arg(long, env = "BOCHNER_LOG_FORMAT", default_value = "auto")]
    pub log_format: LogFormat,

    /// Print example requests once the service is listening.
    #[arg(long)]
    pub welcome: bool,
}

impl Config {
    /// Jobs of one client that may wait in the queue.
    pub(crate) fn queued_jobs_per_client(&self) -> usize {
        self.access.max_queued_jobs_per_client.unwrap_or_else(|| share_of_one(self.max_queued_jobs))
    }
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// Text for people.
    Human,
    /// One JSON object per line.
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

/// A host name or address, as it stands in a `Host` header before the port.
fn host_name(text: &str) -> Result<String, String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte);
    let has_port = !text.starts_with('[') && text.contains(':');
    match text.trim() {
        host if !host.is_empty() && host.bytes().all(is_part) && !has_port => Ok(host.to_owned()),
        _ => Err("write a host name or an address without a port, an IPv6 address in brackets".into()),
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
