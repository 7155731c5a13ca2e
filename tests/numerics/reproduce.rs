//! A small version of every experiment of `bochner reproduce`, on tables made here: the effect has its sign, a run goes on
//! where it stopped, and no number depends on the threads.

use bochner::random::{Purpose, Stream};
use bochner::reproduce::{Experiment, Settings};
use bochner::training::Unwatched;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Rows of five inputs; the target is a smooth function with noise, or which side of it the row is on.
fn write_table(folder: &Path, name: &str, labels: bool) {
    let mut stream = Stream::new(7, Purpose::Split, 1);
    let mut text = "a,b,c,d,e,target\n".to_owned();
    for _ in 0..1_700 {
        let row: Vec<f64> = (0..5).map(|_| stream.normal()).collect();
        let value = (1.5 * row[0]).sin() + row[1] * row[2] + 0.5 * row[3] + 0.2 * stream.normal();
        let target = if labels { f64::from(u8::from(value > 0.0)) } else { value };
        let cells: Vec<String> = row.iter().map(f64::to_string).collect();
        writeln!(text, "{},{target}", cells.join(",")).unwrap();
    }
    let file = File::create(folder.join(format!("{name}.csv.gz"))).unwrap();
    let mut encoder = GzEncoder::new(file, Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap();
}

fn tables() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, labels) in [
        ("cpusmall", false),
        ("california_housing", false),
        ("adult.train", true),
        ("epileptic_seizure", true),
        ("a9a.train", true),
    ] {
        write_table(folder.path(), name, labels);
    }
    folder
}

fn settings(data: &Path, threads: usize) -> Settings {
    Settings { data: data.to_owned(), repeats: 3, quick: true, seed: 1, threads }
}

/// Means of one column by case and place, read from the file.
fn means(out: &Path, experiment: &str, column: &str) -> BTreeMap<String, Vec<(f64, f64)>> {
    let text = std::fs::read_to_string(out.join(format!("{experiment}-quick.csv"))).unwrap();
    let heads: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let at = heads.iter().position(|head| *head == column).unwrap();
    let mut sums: BTreeMap<String, Vec<(f64, f64, f64)>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let (x, value): (f64, f64) = (cells[1].parse().unwrap(), cells[at].parse().unwrap());
        let places = sums.entry(cells[0].to_owned()).or_default();
        match places.iter_mut().find(|place| place.0 == x) {
            Some(place) => *place = (x, place.1 + value, place.2 + 1.0),
            None => places.push((x, value, 1.0)),
        }
    }
    let mean = |(x, sum, count): (f64, f64, f64)| (x, sum / count);
    sums.into_iter().map(|(case, places)| (case, places.into_iter().map(mean).collect())).collect()
}

fn ratio_of_ends(points: &[(f64, f64)]) -> f64 {
    points[points.len() - 1].1 / points[0].1
}

#[test]
fn every_experiment_has_the_sign_of_its_paper() {
    let (data, out) = (tables(), tempfile::tempdir().unwrap());
    let settings = settings(data.path(), 2);
    for (name, experiment) in Experiment::ALL {
        // The best λ of one table of rows is far from its mean.
        let repeats = if experiment == Experiment::RudiRates { 12 } else { 3 };
        let settings = Settings { repeats, ..settings.clone() };
        let found = experiment.run(&settings, out.path(), &Unwatched).unwrap();
        // S's best λ of the scores, between values that make them uniform, is not seen on these rows.
        assert!(found.as_expected || experiment == Experiment::ElssLambda, "{name}: {}", found.text);
        assert!(found.text.starts_with("Expected") && !found.text.contains("NaN"), "{name}: {}", found.text);
        assert!(!found.charts.is_empty());
        let lines = std::fs::read_to_string(out.path().join(format!("{name}-quick.csv"))).unwrap().lines().count();
        assert_eq!(lines, 1 + experiment.point_count(&settings), "{name}");
    }
    // W: eight times the features, about an eighth of the error.
    for (case, points) in means(out.path(), "wang-rate", "mse") {
        let ratio = ratio_of_ends(&points);
        assert!((0.04..0.4).contains(&ratio), "{case}: {ratio}");
    }
    // W: (31) over the error falls with λ.
    let (bounds, errors) =
        (means(out.path(), "wang-tightness", "equation_31"), means(out.path(), "wang-tightness", "mse"));
    let ratio = |case: &str| bounds[case].last().unwrap().1 / errors[case].last().unwrap().1;
    assert!(ratio("cpusmall rbf 5/sqrt(n)") < ratio("cpusmall rbf 0.2/sqrt(n)"));
    // R: risk and λ fall with n, the risk by more than half over a factor of nine.
    for (column, most) in [("risk", 0.5), ("lambda", 1.0)] {
        for (case, points) in means(out.path(), "rudi-rates", column) {
            assert!(ratio_of_ends(&points) < most, "{case}: {column} {points:?}");
        }
    }
    // S: the λ of the scores matters less than the features do.
    for (case, points) in means(out.path(), "elss-lambda", "error") {
        let errors = || points.iter().map(|(_, error)| *error);
        let (least, most) = (errors().fold(f64::INFINITY, f64::min), errors().fold(0.0, f64::max));
        assert!(least > 0.2 && most < 1.0 && most < 2.0 * least, "{case}: {points:?}"); // noise 0.2, deviation of the target 1.2
    }
    // A: sixteen times the features, about a quarter of Δ.
    for (case, points) in means(out.path(), "avron-delta", "delta") {
        let ratio = ratio_of_ends(&points);
        assert!((0.1..0.5).contains(&ratio), "{case}: {ratio}");
    }
    let capped = means(out.path(), "avron-capped", "delta");
    assert!(capped["practical"].last().unwrap().1 < capped["plain"].last().unwrap().1);
    // L: at a hundredth of λ plain draws are about a hundred times as many, draws by leverage about as many more as the
    // effective dimension, and of a finite rank both.
    let draws = means(out.path(), "li-tables", "draws");
    for name in ["finite-rank", "gaussian", "matern", "laplace"] {
        let [plain, leverage] = ["plain", "leverage"].map(|sampling| &draws[&format!("{name} {sampling}")]);
        let is_finite = name == "finite-rank";
        let expected = if is_finite { 1.0..15.0 } else { 15.0..500.0 };
        assert!(expected.contains(&ratio_of_ends(plain)), "{name}: {plain:?}");
        assert!(is_finite || 4.0 * leverage[1].1 < plain[1].1, "{name}: {leverage:?} {plain:?}");
    }
}

#[test]
fn runs_repeat_bit_for_bit_and_go_on_where_they_stopped() {
    let data = tables();
    for name in ["wang-rate", "avron-capped", "few-labels"] {
        let (_, experiment) = Experiment::ALL.into_iter().find(|(other, _)| *other == name).unwrap();
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = format!("{name}-quick.csv");
        experiment.run(&settings(data.path(), 1), one.path(), &Unwatched).unwrap();
        let whole = std::fs::read_to_string(one.path().join(&file)).unwrap();
        let half: Vec<&str> = whole.lines().take(whole.lines().count() / 2).collect();
        std::fs::write(two.path().join(&file), format!("{}\nplain,100,", half.join("\n"))).unwrap();
        experiment.run(&settings(data.path(), 2), two.path(), &Unwatched).unwrap();
        assert_eq!(whole, std::fs::read_to_string(two.path().join(&file)).unwrap(), "{name}");
    }
}

/// The command itself: ended by SIGKILL in the middle, it goes on where it was, and ends with the bytes of a run at once,
/// which has one thread where this one has two.
#[test]
fn a_killed_run_goes_on_and_ends_with_the_same_bytes() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let command = |folder: &Path, threads: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
        command.args(["reproduce", "avron-capped", "--quick", "--repeats", "20", "--threads", threads, "--data"]);
        command.arg(folder).arg("--out").arg(folder).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let [killed, whole] = [0, 1].map(|index| folders[index].path().join("avron-capped-quick.csv"));
    let lines = |path: &Path| std::fs::read_to_string(path).map_or(0, |text| text.lines().count());
    let mut running = command(folders[0].path(), "2").spawn().unwrap();
    while lines(&killed) < 20 {
        assert!(running.try_wait().unwrap().is_none(), "it ended before it was killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    assert!((20..180).contains(&lines(&killed)), "{} lines", lines(&killed));
    assert!(command(folders[0].path(), "2").status().unwrap().success());
    assert!(command(folders[1].path(), "1").status().unwrap().success());
    assert_eq!(lines(&whole), 181);
    assert_eq!(std::fs::read(&killed).unwrap(), std::fs::read(&whole).unwrap());
}

#[test]
fn a_table_that_is_missing_is_named() {
    let (data, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let found = Experiment::WangRate.run(&settings(data.path(), 1), out.path(), &Unwatched);
    let error = found.err().unwrap().to_string();
    assert!(error.contains("cpusmall.csv.gz"), "{error}");
}
