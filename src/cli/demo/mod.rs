//! A tour in text: a table made on the spot, a training, its verdict and a prediction, with links to the console.

/// The table.
mod table;

/// Requests to the service.
mod client;

use super::progress::{ProgressLine, stage_in_words};
use super::{Cli, Command};
use crate::app::App;
use clap::{Args, Parser};
use client::DemoClient;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;
use table::{MORNING, NIGHT, ROWS, TARGET, made_table};
use tokio::net::TcpListener;

/// Letters of a line: a terminal has at least 80.
const WIDTH: usize = 79;

/// How often the job is looked at.
const PAUSE: Duration = Duration::from_millis(200);

/// Address and end of `bochner demo`.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Address that the service of the tour listens on. Port 0 is a free port.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,

    /// End after the tour. Otherwise the console can be visited until Ctrl-C.
    #[arg(long)]
    exit: bool,

    /// Seed of the table.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Serves from a temporary folder and walks through it.
pub(super) fn demo(arguments: &DemoArguments) -> Result<ExitCode, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let data_dir = folder.path().display().to_string();
    let listen = arguments.listen.to_string();
    let given = ["bochner", "serve", "--data-dir", &data_dir, "--listen", &listen, "--drain-delay", "0"];
    let Command::Serve(mut config) = Cli::parse_from(given).command else { return Err("serve is no command".into()) };
    config.program = Some(super::own_program());
    let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("no async runtime: {error}"))?;
    let (app, address) = runtime.block_on(async {
        let listener =
            TcpListener::bind(config.listen).await.map_err(|error| format!("cannot listen on {listen}: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let app = App::start(*config).map_err(|error| error.to_string())?;
        tokio::spawn(app.serve(listener, std::future::pending()));
        Ok::<_, String>((app, address))
    })?;
    let tour = Tour { client: DemoClient { address }, base: format!("http://{address}") };
    let outcome = tour.walk(arguments.seed);
    if outcome.is_ok() && !arguments.exit {
        let text = format!(
            "The console is at {}. Ctrl-C ends the service and removes its folder; `bochner serve` keeps what you make.",
            tour.base
        );
        say(&format!("\n{}", paragraph("", &text)))?;
        runtime.block_on(async { tokio::signal::ctrl_c().await }).map_err(|error| error.to_string())?;
    }
    app.stop_being_ready();
    app.jobs.drain(Duration::from_secs(10));
    runtime.shutdown_background();
    outcome.map(|()| ExitCode::SUCCESS)
}

struct Tour {
    client: DemoClient,
    base: String,
}

impl Tour {
    fn walk(&self, seed: u64) -> Result<(), String> {
        self.bring_a_table(seed)?;
        self.train()?;
        self.read_the_verdict()?;
        self.predict()
    }

    fn bring_a_table(&self, seed: u64) -> Result<(), String> {
        let table = made_table(seed);
        let dataset =
            self.client.post(&format!("/api/v1/datasets?name=bicycles&target={TARGET}"), "text/csv", &table)?;
        let mut text =
            format!("1. A table of {ROWS} hours of a bicycle rental, made on the spot. Predict: {TARGET}\n\n");
        for line in table.lines().take(4) {
            let _ = writeln!(text, "   {line}");
        }
        let findings: Vec<&Value> = dataset["quality"]["findings"].as_array().into_iter().flatten().collect();
        let _ = writeln!(text, "\n   Quality: {}", if findings.is_empty() { "nothing found" } else { "see below" });
        for finding in findings {
            let found = format!("{}: {}", plain(&finding["column"]), plain(&finding["detail"]));
            let _ = writeln!(text, "{}", paragraph("   ", &found));
        }
        let _ = write!(text, "   {}/datasets/{}", self.base, plain(&dataset["id"]));
        say(&text)
    }

    fn train(&self) -> Result<(), String> {
        let text =
            "2. Train kernel ridge regression on random features. Every setting has a default; here, 256 features.";
        say(&format!("\n{}\n", paragraph("", text)))?;
        let request = r#"{"model":"bicycles","dataset":"bicycles","spec":{"effort":"fast","features":{"count":256},"explanations":true}}"#;
        let job = self.client.post("/api/v1/jobs", "application/json", request)?;
        let path = format!("/api/v1/jobs/{}", plain(&job["id"]));
        let line = ProgressLine::start("percent", 100);
        let ended = loop {
            let job = self.client.get(&path)?;
            if !job["finished_at"].is_null() {
                break job;
            }
            let progress = &job["progress"];
            let stage = progress["stage"].as_str().unwrap_or("queued");
            line.show(
                progress["fraction"].as_f64().unwrap_or(0.0),
                stage_in_words(stage),
                progress["eta_seconds"].as_f64(),
            );
            std::thread::sleep(PAUSE);
        };
        line.finish();
        if ended["status"] != "succeeded" {
            return Err(format!("the training {}: {}", plain(&ended["status"]), plain(&ended["error"]["detail"])));
        }
        let report = &ended["report"];
        let seconds: f64 =
            report["stage_seconds"].as_object().into_iter().flatten().filter_map(|(_, s)| s.as_f64()).sum();
        say(&format!(
            "   Trained on {} rows in {seconds:.1} s; {} rows were held out to judge it.\n   {}/jobs/{}",
            report["training_rows"],
            report["validation_rows"],
            self.base,
            plain(&ended["id"])
        ))
    }

    fn read_the_verdict(&self) -> Result<(), String> {
        let found = self.client.get("/api/v1/models/bicycles/guarantees")?;
        let summary = &found["summary"];
        let mut text = format!("\n3. The verdict\n\n{}\n\n", paragraph("   ", &plain(&summary["verdict"])));
        for kind in ["proved", "estimated"] {
            for (id, words) in summary[kind].as_object().into_iter().flatten() {
                let _ = writeln!(text, "{}", paragraph("   ", &format!("{kind}: {} [{id}]", plain(words))));
            }
        }
        for advice in summary["advice"].as_array().into_iter().flatten() {
            let _ = writeln!(text, "{}", paragraph("   ", &format!("next: {}", plain(advice))));
        }
        let link = format!("{}/models/bicycles shows it with pictures, versions and aliases", self.base);
        let _ = write!(text, "\n{}", paragraph("   ", &link));
        say(&text)
    }

    fn predict(&self) -> Result<(), String> {
        let request = format!(r#"{{"records":[{MORNING},{NIGHT}],"outputs":["value","interval"]}}"#);
        let path = "/api/v1/models/bicycles/predict";
        let answer = self.client.post(path, "application/json", &request)?;
        let mut text = String::from("\n4. Predict\n\n");
        for (name, found) in
            ["8 o'clock", "2 o'clock"].into_iter().zip(answer["predictions"].as_array().into_iter().flatten())
        {
            let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
            let _ = writeln!(
                text,
                "   At {name}: {:.0} rentals, between {:.0} and {:.0} with probability at least 95%",
                number(&found["value"]),
                number(&found["interval"]["low"]),
                number(&found["interval"]["high"])
            );
        }
        let _ = write!(
            text,
            "\n   curl -sS -H 'content-type: application/json' \\\n     -d '{{\"records\":[{MORNING}]}}' \\\n     {0}{path}\n\n\
             \x20  {0}/models/bicycles/try has sliders for every column",
            self.base
        );
        say(&text)
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "the table".to_owned(),
        other => other.as_str().map_or_else(|| other.to_string(), str::to_owned),
    }
}

/// In lines of a terminal, broken between words.
fn paragraph(indent: &str, text: &str) -> String {
    let mut lines = vec![indent.to_owned()];
    let mut is_first = true;
    for word in text.split(' ') {
        let end = lines.len() - 1;
        if !is_first && lines[end].chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{indent}{word}"));
        } else {
            lines[end].push_str(if is_first { "" } else { " " });
            lines[end].push_str(word);
        }
        is_first = false;
    }
    lines.join("\n")
}

/// On standard output, at once: a tour is read while it goes on.
fn say(text: &str) -> Result<(), String> {
    let mut target = io::stdout();
    super::written("the tour", writeln!(target, "{text}").and_then(|()| target.flush()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_between_words_and_fit_a_terminal() {
        let text = "a word ".repeat(30) + &"x".repeat(90);
        let lines: Vec<String> = paragraph("   ", &text).lines().map(str::to_owned).collect();
        assert!(lines.iter().all(|line| line.starts_with("   ") && !line.ends_with(' ')), "{lines:?}");
        let (longest, rest) = lines.split_last().unwrap();
        assert!(
            rest.iter().all(|line| (70..=WIDTH).contains(&line.len()) || line == &rest[rest.len() - 1]),
            "{lines:?}"
        );
        assert_eq!(longest.trim(), "x".repeat(90), "a word that is too long is not broken");
        assert_eq!(lines.join(" ").split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
    }
}
