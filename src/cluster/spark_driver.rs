//! The process that runs the Spark session: the Python module that this program brings with it. It takes requests as lines of
//! JSON on its standard input and answers on its standard output, and ends when its input does.

use crate::config::{ClusterConfig, SparkConfig, SparkReader};
use crate::training::{InstructionSet, TrainError};
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The modules, as in `clients/spark`; the first is the program.
const MODULES: [(&str, &str); 2] = [
    ("bochner_spark.py", include_str!("../../clients/spark/bochner_spark.py")),
    ("bochner_files.py", include_str!("../../clients/spark/bochner_files.py")),
];

/// Time between two questions whether to stop.
const PATIENCE: Duration = Duration::from_millis(200);

/// Lines of standard error that an error repeats, and the most characters of each.
const MOST_WORDS: usize = 3;
const LONGEST_WORDS: usize = 300;

/// Time for a session to end by itself.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// How a session is started.
#[derive(Debug, Clone)]
pub struct SparkOptions {
    /// Such as `local[4]`, `spark://host:7077`, `yarn`, or `sc://host` for Spark Connect.
    pub master: String,
    /// The Python that has pyspark.
    pub python: PathBuf,
    /// `bochner-worker` or `bochner`, where the executors have it.
    pub program: PathBuf,
    /// Partitions; by default as many as there are files, 200 at most.
    pub partitions: Option<usize>,
    /// Who reads the files on the executors, if both can.
    pub reader: SparkReader,
    /// `name=value`.
    pub settings: Vec<String>,
    /// Instructions that every pass uses, on a cluster whose machines have different ones.
    pub instructions: Option<InstructionSet>,
}

impl SparkOptions {
    /// Those of a service; none without a master.
    pub fn of(config: &ClusterConfig) -> Result<Option<Self>, String> {
        config.spark_master.as_deref().map(|master| Self::new(master, &config.spark)).transpose()
    }

    /// Sessions of a master as they are configured.
    pub fn new(master: &str, config: &SparkConfig) -> Result<Self, String> {
        let found = || worker_program().map_err(|error| format!("the path of this program is not known: {error}"));
        Ok(Self {
            master: master.to_owned(),
            python: config.spark_python.clone(),
            program: config.spark_program.clone().map_or_else(found, Ok)?,
            partitions: config.spark_partitions.map(|count| count as usize),
            reader: config.spark_reader,
            settings: config.spark_conf.clone(),
            instructions: config.spark_instructions,
        })
    }
}

/// The program that runs passes: `bochner-worker` beside this one, or this one where there is none.
fn worker_program() -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let worker = own.with_file_name("bochner-worker");
    Ok(if worker.is_file() { worker } else { own })
}

/// A running session. It ends with its owner.
pub(super) struct SparkDriver {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<String>,
    last_words: Arc<Mutex<VecDeque<String>>>,
}

impl SparkDriver {
    pub(super) fn start(options: &SparkOptions, folder: &Path) -> Result<Self, TrainError> {
        for (name, text) in MODULES {
            std::fs::write(folder.join(name), text).map_err(TrainError::Rows)?;
        }
        let mut command = Command::new(&options.python);
        command
            .args(["-u", "-B"])
            .arg(folder.join(MODULES[0].0))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .current_dir(folder);
        let mut child = command.spawn().map_err(|error| {
            TrainError::Engine(format!("{} cannot be started: {error}; set --spark-python", options.python.display()))
        })?;
        let (requests, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (sender, answers) = channel();
        let last_words = Arc::default();
        let words = Arc::clone(&last_words);
        // Dropped, and the child ended, if a thread cannot be started. The threads end with the output of the child.
        let driver = Self { child, requests, answers, last_words };
        on_a_thread("bochner-spark-answers", move || {
            let lines = output.map(|output| BufReader::new(output).lines().map_while(Result::ok));
            lines.into_iter().flatten().all(|line| sender.send(line).is_ok());
        })?;
        on_a_thread("bochner-spark-words", move || {
            if let Some(errors) = errors {
                pass_on(errors, &words);
            }
        })?;
        Ok(driver)
    }

    pub(super) fn send(&mut self, request: &Value) -> Result<(), TrainError> {
        let sent = self.requests.as_mut().is_some_and(|requests| {
            requests.write_all(format!("{request}\n").as_bytes()).and_then(|()| requests.flush()).is_ok()
        });
        if sent { Ok(()) } else { Err(self.lost()) }
    }

    fn lost(&self) -> TrainError {
        std::thread::sleep(PATIENCE); // for what it wrote last to arrive
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let words = words.iter().map(String::as_str).collect::<Vec<_>>().join(" | ");
        let words = if words.is_empty() { "nothing".to_owned() } else { words };
        TrainError::Engine(format!("the Spark session has ended unexpectedly; its last words: {words}"))
    }

    /// Waits for an answer, and passes on how far the work is until then.
    pub(super) fn wait_for(
        &mut self,
        wanted: &str,
        tick: &dyn Fn(f64) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let mut done = 0.0;
        loop {
            let line = match self.answers.recv_timeout(PATIENCE) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    tick(done)?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.lost()),
            };
            let answer: Value = serde_json::from_str(&line)
                .map_err(|_| TrainError::Engine(format!("the Spark session answered with other than JSON: {line}")))?;
            let words = |name: &str| answer[name].as_str().map(str::to_owned);
            if let Some(refusal) = words("refused") {
                return Err(TrainError::Data(refusal));
            }
            if let Some(failure) = words("failed") {
                return Err(TrainError::Engine(format!("Spark failed: {failure}")));
            }
            if let Some(progress) = answer["progress"].as_f64() {
                done = progress.clamp(0.0, 1.0);
                tick(done)?;
            }
            if answer.get(wanted).is_some() {
                return Ok(());
            }
        }
    }
}

/// Writes what the session writes to standard error to our own, and keeps the last lines.
fn pass_on(errors: ChildStderr, last_words: &Mutex<VecDeque<String>>) {
    for line in BufReader::new(errors).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).replace(|c: char| c.is_control() && c != '\t', "\u{fffd}");
        eprintln!("{line}");
        let mut kept = last_words.lock().unwrap_or_else(PoisonError::into_inner);
        if !line.trim().is_empty() {
            kept.push_back(line.trim().chars().take(LONGEST_WORDS).collect());
        }
        if kept.len() > MOST_WORDS {
            kept.pop_front();
        }
    }
}

fn on_a_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), TrainError> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread
        .map(drop)
        .map_err(|error| TrainError::Engine(format!("no thread could be started for the Spark session: {error}")))
}

impl Drop for SparkDriver {
    /// Executors, and what they started, end with the session.
    fn drop(&mut self) {
        drop(self.requests.take());
        let given_up = Instant::now() + SHUTDOWN_GRACE;
        while Instant::now() < given_up {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(PATIENCE);
        }
        // It may have ended just now; then there is nothing to kill.
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait().map(drop)) {
            tracing::debug!(%error, "the Spark session had ended already");
        }
    }
}
