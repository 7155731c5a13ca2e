//! S, Figures 2 to 4, and L: test errors of samplings over random splits, by the comparison that the service offers.

use super::book::{Book, Key};
use super::fits::exact;
use super::statistics::{Mean, chart, means, series, table};
use super::tables::{Numbers, at_mean_distance, read, read_one_against_rest};
use super::{Findings, ReproduceError, Settings, Study};
use crate::app::table_file::TableFile;
use crate::dataset::{ScalingRule, Task};
use crate::features::KernelShape;
use crate::plots::Scale;
use crate::theory::papers::li::enough_draws;
use crate::training::{CompareSpec, Observer, Resources, SpecLimits, Stage, compare};
use serde_json::{Value, json};
use std::fmt::Write;

/// Where labels or numbers come from.
#[derive(Clone, Copy)]
enum Source {
    Numbers(&'static str),
    Labels(&'static str),
    /// A label against all others.
    OneAgainstRest(&'static str, &'static str),
}

/// What is on the x axis of a figure.
#[derive(Clone, Copy, PartialEq)]
enum Varied {
    Features,
    LabelsPerClass,
    ScoreLambda,
}

/// A figure that compares samplings.
pub(super) struct Comparisons {
    expected: &'static str,
    tables: &'static [(&'static str, Source)],
    learners: &'static [&'static str],
    samplings: &'static [&'static str],
    axis: Varied,
    places: &'static [f64],
    quick_places: &'static [f64],
    /// Of every fit that does not say otherwise.
    features: u64,
    /// Labelled rows in all, a fifth of them for testing.
    rows: u64,
    /// Shared by all fits, as JSON.
    spec: &'static str,
    /// λ at which the feature counts of L are computed.
    li_lambda: Option<f64>,
}

const SEIZURE: (&str, Source) = ("seizure", Source::OneAgainstRest("epileptic_seizure", "1"));
const ADULT: (&str, Source) = ("adult", Source::Labels("adult.train"));

pub(super) const ELSS: Comparisons = Comparisons {
    expected: "Expected (S, Figure 2): elss1 has a smaller test error than plain draws (RKS) at equal numbers of features, elss2 \
               a smaller one still, near those of eerf and lkrf, which look at the targets.",
    tables: &[
        ADULT,
        SEIZURE,
        ("news", Source::Numbers("online_news_part")),
        ("california", Source::Numbers("california_housing")),
    ],
    learners: &[""],
    samplings: &["plain", "elss1", "elss2", "lkrf", "eerf", "pooled_ridge"],
    axis: Varied::Features,
    places: &[20.0, 40.0, 60.0, 80.0, 100.0],
    quick_places: &[20.0, 60.0],
    features: 100,
    rows: 3_000,
    spec: "{}",
    li_lambda: None,
};

pub(super) const ELSS_LAMBDA: Comparisons = Comparisons {
    expected: "Expected (S, Figure 3): the error depends on the λ of the scores, with a best value between those that make the \
               scores uniform.",
    tables: &[("california", Source::Numbers("california_housing")), ("cpusmall", Source::Numbers("cpusmall"))],
    samplings: &["elss1", "elss2"],
    axis: Varied::ScoreLambda,
    places: &[1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2, 1.0, 1e2],
    quick_places: &[1e-9, 1e-4, 1e2],
    features: 50,
    ..ELSS
};

pub(super) const FEW_LABELS: Comparisons = Comparisons {
    expected: "Expected (S, Figure 4): with 25 features and few labels a class, elss1 with logistic regression has fewer errors \
               than logistic regression on the inputs themselves.",
    tables: &[SEIZURE, ADULT],
    samplings: &["plain", "elss1", "elss2", "linear"],
    axis: Varied::LabelsPerClass,
    places: &[5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 400.0],
    quick_places: &[5.0, 50.0],
    features: 25,
    rows: 11_500,
    spec: r#"{"features": {"map": "phase"}, "lambda": 0.001}"#,
    ..ELSS
};

pub(super) const LI_FEATURES: Comparisons = Comparisons {
    expected: "Expected (L, Corollaries 1 and 2): sampling by leverage needs fewer features than plain sampling for the same error.",
    tables: &[("a9a", Source::Labels("a9a.train")), ("letter", Source::Labels("letter.train"))],
    learners: &["hinge", "logistic"],
    samplings: &["plain", "leverage"],
    places: &[16.0, 32.0, 64.0, 128.0, 256.0],
    quick_places: &[16.0, 64.0],
    features: 256,
    spec: r#"{"lambda": 0.001}"#,
    li_lambda: Some(0.001),
    ..ELSS
};

impl Comparisons {
    fn tables(&self, settings: &Settings) -> &'static [(&'static str, Source)] {
        settings.size(self.tables, &self.tables[..1])
    }

    fn places(&self, settings: &Settings) -> &'static [f64] {
        settings.size(self.places, self.quick_places)
    }

    fn case(name: &str, learner: &str, sampling: &str) -> String {
        [name, learner, sampling].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Tables and learners.
    fn groups(&self, settings: &Settings) -> Vec<((&'static str, Source), &'static str)> {
        let of_table = |table| self.learners.iter().map(move |learner| (table, *learner));
        self.tables(settings).iter().flat_map(|table| of_table(*table)).collect()
    }

    /// The request of one repetition; `lambda` is that of the scores where it is on the axis.
    fn request(&self, learner: &str, settings: &Settings, repeat: u64, lambda: Option<f64>) -> Value {
        let mut spec: Value = serde_json::from_str(self.spec).unwrap_or_default();
        if !learner.is_empty() {
            spec["learner"] = json!(learner);
        }
        spec["features"]["seed"] = json!(settings.seed.wrapping_add(repeat));
        if let Some(lambda) = lambda {
            spec["features"]["pool_lambda"] = json!(lambda);
        }
        let counts: Vec<u64> = self.places(settings).iter().map(|x| *x as u64).collect();
        let features = if self.axis == Varied::Features { counts.clone() } else { vec![self.features] };
        let rows = settings.size(self.rows, 500);
        let mut request = json!({
            "samplings": self.samplings, "features": features, "repeats": 1, "test_fraction": 0.2, "rows": rows, "spec": spec,
        });
        if self.axis == Varied::LabelsPerClass {
            request["labels_per_class"] = json!(counts);
        }
        request
    }

    /// All samplings on one split, at every place or at one λ of the scores.
    fn compare(
        &self,
        file: &TableFile,
        (name, learner): (&str, &str),
        settings: &Settings,
        (repeat, lambda): (u64, Option<f64>),
        observer: &dyn Observer,
    ) -> Result<Vec<(Key, Vec<f64>)>, ReproduceError> {
        let schema = &file.dataset.schema;
        let limits = SpecLimits { feature_count: 16_384 };
        let request = self.request(learner, settings, repeat, lambda);
        let checked = CompareSpec::check(&request, limits).and_then(|spec| spec.check_against(schema).map(|()| spec));
        let spec = checked.map_err(|problems| {
            let details: Vec<String> = problems.iter().map(|problem| problem.detail.clone()).collect();
            ReproduceError::File(format!("{name}: {}", details.join("; ")))
        })?;
        let resources = Resources { threads: settings.threads, cache_bytes: 0 };
        let found = compare(&file.table, schema, name, &spec, resources, &Silent(observer))?;
        let keyed = found.trials.iter().map(|trial| {
            let size = trial.labels_per_class.unwrap_or(trial.features) as f64;
            let key = Key::new(&Self::case(name, learner, &trial.sampling), lambda.unwrap_or(size), repeat);
            (key, vec![trial.error, trial.lambda])
        });
        Ok(keyed.collect())
    }
}

impl Study for Comparisons {
    fn quantities(&self) -> &'static [&'static str] {
        &["error", "lambda"]
    }

    fn keys(&self, settings: &Settings) -> Vec<Key> {
        let of_group = |((name, _), learner): &((&str, Source), &str)| {
            let case = |sampling: &&str| Self::case(name, learner, sampling);
            self.samplings.iter().map(case).collect::<Vec<_>>()
        };
        let cases: Vec<String> = self.groups(settings).iter().flat_map(of_group).collect();
        Key::all(&cases, self.places(settings), settings.repeats)
    }

    fn measure(&self, settings: &Settings, book: &mut Book) -> Result<(), ReproduceError> {
        for ((name, source), learner) in self.groups(settings) {
            let start = format!("{} ", Self::case(name, learner, ""));
            let missing = book.missing_of(&start);
            if missing.is_empty() {
                continue;
            }
            let file = source.read(settings)?;
            let by_lambda = self.axis == Varied::ScoreLambda;
            let mut units: Vec<(u64, Option<f64>)> =
                missing.iter().map(|key| (key.repeat, by_lambda.then_some(key.x))).collect();
            units.sort_by(|a, b| f64::total_cmp(&a.1.unwrap_or(0.0), &b.1.unwrap_or(0.0)).then(a.0.cmp(&b.0)));
            units.dedup();
            for unit in units {
                for (key, values) in self.compare(&file, (name, learner), settings, unit, book.observer())? {
                    book.record(&key, &values)?;
                }
            }
        }
        Ok(())
    }

    fn findings(&self, settings: &Settings, book: &Book) -> Findings {
        let places = self.places(settings);
        let label = match self.axis {
            Varied::Features => "features",
            Varied::LabelsPerClass => "labels per class",
            Varied::ScoreLambda => "λ of the scores",
        };
        let (mut text, mut charts) = (String::new(), Vec::new());
        let (mut compared, mut better, mut worse, mut is_expected) = (0, 0, 0, true);
        for ((name, source), learner) in self.groups(settings) {
            let of = |sampling: &&str| means(book, &Self::case(name, learner, sampling), places, "error");
            let columns: Vec<Vec<(f64, Mean)>> = self.samplings.iter().map(of).collect();
            let first = |place: usize| columns[0][place].1.value;
            let last = places.len() - 1;
            if self.axis == Varied::ScoreLambda {
                is_expected &= (1..last).any(|place| first(place) < first(0).max(first(last)));
            }
            for (place, x) in places.iter().enumerate() {
                let paired = |sampling: &str| book.values(&Self::case(name, learner, sampling), *x, "error");
                let pairs = paired(self.samplings[1]).into_iter().zip(paired(self.samplings[0]));
                let difference = Mean::of(&pairs.map(|(other, first)| other - first).collect::<Vec<_>>());
                compared += 1;
                better += usize::from(difference.value < -2.0 * difference.error);
                worse += usize::from(difference.value > 2.0 * difference.error);
                is_expected &= self.axis == Varied::ScoreLambda || place == 0 || first(place) <= first(0);
            }
            let row = |(index, x): (usize, &f64)| {
                let cells = columns.iter().map(|column| column[index].1.text());
                std::iter::once(x.to_string()).chain(cells).collect()
            };
            let rows: Vec<Vec<String>> = places.iter().enumerate().map(row).collect();
            let heads: Vec<&str> = std::iter::once(label).chain(self.samplings.iter().copied()).collect();
            let title = Self::case(name, learner, "");
            let _ = write!(text, "\n{title}, {}:\n\n{}", source.metric(), table(&heads, &rows));
            let lines =
                self.samplings.iter().zip(&columns).map(|(sampling, points)| series(sampling, points)).collect();
            let mut figure = chart(&format!("{title}: test error"), label, source.metric(), lines);
            figure.y.scale = Scale::Linear;
            charts.push((title.replace(' ', "-"), figure));
        }
        let counts = self.li_lambda.map_or_else(String::new, |lambda| self.li_counts(settings, lambda));
        let text = format!(
            "{}\n\nFound: split by split, {} is better than {} by more than two standard errors in {better} of {compared} cells and \
             worse by as much in {worse}. {} splits of at most {} labelled rows; bandwidth by the mean distance.{counts}\n{text}",
            self.expected,
            self.samplings[1],
            self.samplings[0],
            settings.repeats,
            settings.size(self.rows, 500),
        );
        Findings { text, charts, as_expected: is_expected }
    }
}

impl Comparisons {
    /// The features that L's corollaries ask for, from the effective dimension of a sample of rows.
    fn li_counts(&self, settings: &Settings, lambda: f64) -> String {
        let mut text = String::new();
        for (name, source) in self.tables(settings) {
            let rows = settings.size(2_000, 300);
            let Ok(numbers) = Numbers::read(settings, source.file(), None, ScalingRule::Standard) else { continue };
            let (sample, _) = numbers.split(settings, 0, (rows, 0));
            let kernel = at_mean_distance(KernelShape::Gaussian, sample.inputs.view());
            let problem = exact(kernel, sample.inputs.view(), sample.targets.view(), lambda, settings.threads);
            let Ok(dimension) = problem.dimension(&|| true) else { continue };
            let (plain, weighted) = (
                enough_draws(1.0 / lambda, dimension.value, 0.05).corollary,
                enough_draws(dimension.value, dimension.value, 0.05).corollary,
            );
            let _ = write!(
                text,
                " On {name}, at λ = {lambda} the effective dimension of {rows} rows is {:.1}; L's Corollary 1 then asks for \
                 {plain:.0} plain draws, Corollary 2 for {weighted:.0} by leverage.",
                dimension.value
            );
        }
        text
    }
}

impl Source {
    fn file(self) -> &'static str {
        match self {
            Self::Numbers(file) | Self::Labels(file) | Self::OneAgainstRest(file, _) => file,
        }
    }

    fn read(self, settings: &Settings) -> Result<TableFile, ReproduceError> {
        match self {
            Self::Numbers(file) => read(settings, file, Task::Regression),
            Self::Labels(file) => read(settings, file, Task::Classification),
            Self::OneAgainstRest(file, label) => read_one_against_rest(settings, file, label),
        }
    }

    fn metric(self) -> &'static str {
        match self {
            Self::Numbers(_) => "test RMSE",
            Self::Labels(_) | Self::OneAgainstRest(..) => "share of wrong labels",
        }
    }
}

/// Passes on that work should stop; the progress of single comparisons is not that of the experiment.
struct Silent<'a>(&'a dyn Observer);

impl Observer for Silent<'_> {
    fn progress(&self, _: Stage, _: f64) {}

    fn should_stop(&self) -> bool {
        self.0.should_stop()
    }
}
