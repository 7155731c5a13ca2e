//! The CSV file of an experiment: one line for each point, kept from run to run.

use super::{ReproduceError, at};
use crate::solver::in_order;
use crate::training::{Observer, Stage};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Which point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    /// Table, kernel and the like, without commas.
    pub(super) case: String,
    /// Place on the axis of the chart.
    pub(super) x: f64,
    /// From 0.
    pub(super) repeat: u64,
}

impl Key {
    pub(super) fn new(case: &str, x: f64, repeat: u64) -> Self {
        Self { case: case.to_owned(), x, repeat }
    }

    /// Every combination, cases first.
    pub(super) fn all(cases: &[String], places: &[f64], repeats: u64) -> Vec<Self> {
        let mut keys = Vec::new();
        for case in cases {
            for x in places {
                keys.extend((0..repeats).map(|repeat| Self::new(case, *x, repeat)));
            }
        }
        keys
    }

    /// The first cells of its line.
    fn text(&self) -> String {
        format!("{},{},{}", self.case, self.x, self.repeat)
    }
}

/// The points that are known, on disk and in memory.
pub(super) struct Book<'a> {
    path: PathBuf,
    file: File,
    quantities: &'static [&'static str],
    /// Of this run, in order.
    keys: Vec<Key>,
    wanted: BTreeSet<String>,
    lines: BTreeMap<String, Vec<f64>>,
    /// Points of this run that are known.
    done: usize,
    observer: &'a dyn Observer,
}

impl<'a> Book<'a> {
    /// Opens the file of an experiment, or makes it. A last line that was not written to its end is dropped.
    pub(super) fn open(
        path: &Path,
        quantities: &'static [&'static str],
        keys: Vec<Key>,
        observer: &'a dyn Observer,
    ) -> Result<Self, ReproduceError> {
        let header = format!("case,x,repeat,{}\n", quantities.join(","));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => header.clone(),
            Err(error) => return Err(at(path, &error)),
        };
        let Some(body) = text.strip_prefix(&header) else {
            return Err(at(
                path,
                &format!("this is not a file of this experiment: expected the columns {}", header.trim()),
            ));
        };
        let whole = &body[..body.rfind('\n').map_or(0, |end| end + 1)];
        let mut lines = BTreeMap::new();
        for line in whole.lines() {
            let (key, values) = parsed(line, quantities.len())
                .ok_or_else(|| at(path, &format!("cannot read the line '{line}'; delete the file to start again")))?;
            lines.insert(key, values);
        }
        write_whole(path, &format!("{header}{whole}"))?;
        let file = OpenOptions::new().append(true).open(path).map_err(|error| at(path, &error))?;
        let wanted: BTreeSet<String> = keys.iter().map(Key::text).collect();
        let done = wanted.iter().filter(|key| lines.contains_key(*key)).count();
        Ok(Self { path: path.to_owned(), file, quantities, keys, wanted, lines, done, observer })
    }

    /// Whether a point is known.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.lines.contains_key(&key.text())
    }

    /// The points of this run that are not known yet.
    pub(super) fn missing(&self) -> Vec<Key> {
        self.keys.iter().filter(|key| !self.has(key)).cloned().collect()
    }

    /// The same for the cases whose names start like this.
    pub(super) fn missing_of(&self, start: &str) -> Vec<Key> {
        self.missing().into_iter().filter(|key| key.case.starts_with(start)).collect()
    }

    /// Measures points on several threads, and writes them down in their order.
    pub(super) fn measure(
        &mut self,
        threads: usize,
        keys: &[Key],
        value: impl Fn(&Key) -> Result<Vec<f64>, ReproduceError> + Sync,
    ) -> Result<(), ReproduceError> {
        self.measure_together(threads, keys, |key| Ok(vec![(key.clone(), value(key)?)]))
    }

    /// The same where one piece of work gives several points. Those that are known stay as they are.
    pub(super) fn measure_together<U: Sync>(
        &mut self,
        threads: usize,
        pieces: &[U],
        points: impl Fn(&U) -> Result<Vec<(Key, Vec<f64>)>, ReproduceError> + Sync,
    ) -> Result<(), ReproduceError> {
        let produce = |index: usize, found: &mut Vec<(Key, Vec<f64>)>| {
            *found = points(&pieces[index])?;
            Ok(())
        };
        in_order(threads, pieces.len(), Vec::new, produce, self, |_, found, book| {
            found.iter().try_for_each(|(key, values)| book.record(key, values))
        })?;
        Ok(())
    }

    /// Who is told of the progress.
    pub(super) fn observer(&self) -> &'a dyn Observer {
        self.observer
    }

    /// Whether to go on.
    pub(super) fn go_on(&self) -> bool {
        !self.observer.should_stop()
    }

    /// Writes a point down, unless it is known.
    pub(super) fn record(&mut self, key: &Key, values: &[f64]) -> Result<(), ReproduceError> {
        let text = key.text();
        if self.lines.contains_key(&text) {
            return Ok(());
        }
        let written = self.file.write_all(line(&text, values).as_bytes());
        written.map_err(|error| at(&self.path, &error))?;
        self.done += usize::from(self.wanted.contains(&text));
        self.lines.insert(text, values.to_vec());
        self.observer.progress(Stage::Compare, self.done as f64 / self.keys.len().max(1) as f64);
        if self.go_on() { Ok(()) } else { Err(ReproduceError::Stopped) }
    }

    /// Puts the points of this run in order, and others after them.
    pub(super) fn finish(&mut self) -> Result<(), ReproduceError> {
        let mut text = format!("case,x,repeat,{}\n", self.quantities.join(","));
        let own = self.keys.iter().map(Key::text).filter_map(|key| Some((key.clone(), self.lines.get(&key)?)));
        let others = self.lines.iter().filter(|(key, _)| !self.wanted.contains(*key));
        for (key, values) in own.chain(others.map(|(key, values)| (key.clone(), values))) {
            text.push_str(&line(&key, values));
        }
        write_whole(&self.path, &text)?;
        self.file = OpenOptions::new().append(true).open(&self.path).map_err(|error| at(&self.path, &error))?;
        Ok(())
    }

    /// One quantity at one place, repetition by repetition.
    pub(super) fn values(&self, case: &str, x: f64, quantity: &str) -> Vec<f64> {
        let Some(column) = self.quantities.iter().position(|name| *name == quantity) else { return Vec::new() };
        let own = self.keys.iter().filter(|key| key.case == case && key.x.to_bits() == x.to_bits());
        own.filter_map(|key| self.lines.get(&key.text()).map(|values| values[column])).collect()
    }
}

fn line(key: &str, values: &[f64]) -> String {
    let cells: Vec<String> = values.iter().map(f64::to_string).collect();
    format!("{key},{}\n", cells.join(","))
}

fn parsed(line: &str, count: usize) -> Option<(String, Vec<f64>)> {
    let cells: Vec<&str> = line.split(',').collect();
    let (key, values) = cells.split_at_checked(3)?;
    let values: Vec<f64> = values.iter().map(|cell| cell.parse().ok()).collect::<Option<_>>()?;
    (values.len() == count).then(|| (key.join(","), values))
}

/// The new file or the old one, never a part.
fn write_whole(path: &Path, text: &str) -> Result<(), ReproduceError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)
    };
    write().map(drop).map_err(|error| at(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::Unwatched;

    fn keys() -> Vec<Key> {
        Key::all(&["a".to_owned(), "b".to_owned()], &[0.1, 20.0], 2)
    }

    #[test]
    fn a_run_goes_on_where_it_stopped_and_ends_with_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let values = |key: &Key| vec![key.x / 3.0, 1e-300 + key.repeat as f64];
        let run = |name: &str, stop_after: usize| {
            let path = folder.path().join(name);
            let mut book = Book::open(&path, &["one", "two"], keys(), &Unwatched).unwrap();
            let missing = book.missing();
            for key in missing.iter().rev().take(stop_after) {
                book.record(key, &values(key)).unwrap();
            }
            (missing.len(), book, path)
        };
        let (_, _, path) = run("in_parts.csv", 3);
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("b,20,1,3.3"); // cut off by a crash
        std::fs::write(&path, text).unwrap();
        let (left, mut book, path) = run("in_parts.csv", 8);
        assert_eq!(left, 5);
        book.finish().unwrap();
        let (_, mut at_once, other) = run("at_once.csv", 8);
        at_once.finish().unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), std::fs::read_to_string(other).unwrap());
        assert_eq!(book.values("b", 0.1, "two"), [1e-300, 1.0]);
        assert!(book.missing().is_empty());
    }

    #[test]
    fn a_file_of_something_else_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        for text in ["a,b\n1,2\n", "case,x,repeat,one\na,1,0,many\n"] {
            std::fs::write(&path, text).unwrap();
            assert!(Book::open(&path, &["one"], keys(), &Unwatched).is_err());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
