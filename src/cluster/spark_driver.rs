//! The process that runs the Spark session: the Python module that this program brings with it. It takes requests as lines of
//! JSON on its standard input and answers on its standard output, and ends when its input does.

use crate::training::TrainError;
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The module, as in `clients/spark`.
const MODULE: &str = include_str!("../../clients/spark/bochner_spark.py");

/// Time between two questions whether to stop.
const PATIENCE: Duration = Duration::from_millis(200);

/// Time for a session to end by itself.
const FAREWELL: Duration = Duration::from_secs(10);

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
    /// `name=value`.
    pub settings: Vec<String>,
}

/// The program that runs passes: `bochner-worker` beside this one, or this one where there is none.
pub fn worker_program() -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let worker = own.with_file_name("bochner-worker");
    Ok(if worker.is_file() { worker } else { own })
}

/// A running session. It ends with its owner.
pub(super) struct SparkDriver {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl SparkDriver {
    pub(super) fn start(options: &SparkOptions, folder: &Path) -> Result<Self, TrainError> {
        let module = folder.join("bochner_spark.py");
        std::fs::write(&module, MODULE).map_err(TrainError::Rows)?;
        let mut command = Command::new(&options.python);
        command.arg("-u").arg(&module).stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir(folder);
        let mut child = command.spawn().map_err(|error| {
            TrainError::Engine(format!("{} cannot be started: {error}; set --spark-python", options.python.display()))
        })?;
        let (requests, output) = (child.stdin.take(), child.stdout.take());
        let (sender, answers) = channel();
        // Ends with the output of the child.
        std::thread::spawn(move || {
            let lines = output.map(|output| BufReader::new(output).lines().map_while(Result::ok));
            lines.into_iter().flatten().all(|line| sender.send(line).is_ok());
        });
        Ok(Self { child, requests, answers })
    }

    pub(super) fn send(&mut self, request: &Value) -> Result<(), TrainError> {
        let sent = self.requests.as_mut().is_some_and(|requests| {
            requests.write_all(format!("{request}\n").as_bytes()).and_then(|()| requests.flush()).is_ok()
        });
        if sent { Ok(()) } else { Err(lost()) }
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
                Err(RecvTimeoutError::Disconnected) => return Err(lost()),
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

fn lost() -> TrainError {
    TrainError::Engine("the Spark session has ended; its last words are above".into())
}

impl Drop for SparkDriver {
    /// Executors, and what they started, end with the session.
    fn drop(&mut self) {
        drop(self.requests.take());
        let given_up = Instant::now() + FAREWELL;
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
