//! Statements about models, compared with what they speak of.
//!
//! Models of many kinds are trained. Next to each, exact kernel ridge regression is solved by a dense factorisation that
//! shares no code with the service, and everything that a guarantee bounds is computed on rows that the training never
//! saw: bounds on a mean over feature draws from new draws on the same rows, bounds on this model from the model, events
//! by how often they fail. `cargo bench --bench truth` does the same with many more models.

pub(crate) mod cases;
mod checks;
mod classifiers;
mod dense;
mod oracle;
mod tables;

pub(crate) use checks::Ledger;
pub(crate) use tables::{Table, made as made_tables};

use cases::Case;
use classifiers::LabelCase;

/// Trains and checks `count` ridge models and a fifth as many classifiers; every case takes its table from the list in turn.
pub(crate) fn examine(tables: &[Table], count: usize) -> Ledger {
    let mut ledger = Ledger::default();
    for index in 0..count {
        let case = Case::number(index);
        let table = &tables[index % tables.len()];
        match case.train(table) {
            Ok(trained) => ledger.examine(&case, table, trained),
            Err(refusal) => ledger.refuse(&format!("{}: {}", table.name, case.describe()), &refusal),
        }
    }
    for index in 0..count / 5 {
        LabelCase::number(index).examine(&tables[index % tables.len()], &mut ledger);
    }
    ledger
}

/// Figures that are not those of the model are found to be false.
#[test]
fn a_false_figure_is_found() {
    let table = &made_tables()[0];
    // Most statements apply to it.
    let case = |seed: u64| {
        Case::of(serde_json::json!({
            "kernel": {"bandwidth": 1.5}, "scaling": "none", "lambda": 0.5, "features": {"count": 32, "seed": seed},
            "validation_fraction": 0.3, "calibration_fraction": 0.2,
        }))
    };
    let models: Vec<_> = (0..2).map(case).map(|case| (case.train(table).unwrap(), case)).collect();
    let found = |change: &dyn Fn(&mut bochner::theory::Evidence)| {
        let mut ledger = Ledger::default();
        for (trained, case) in &models {
            let mut trained = trained.clone();
            change(trained.model.evidence.as_mut().unwrap());
            ledger.examine(case, table, trained);
        }
        ledger.violations().join("\n")
    };
    // The coverage of two models may be off by chance; the rest may not.
    let as_they_are = found(&|_| ());
    assert!(as_they_are.lines().all(|violation| violation.starts_with("conformal: 0.9")), "{as_they_are}");
    let solution = found(&|evidence| evidence.exact.as_mut().unwrap().quadratic_form *= 0.9);
    assert!(solution.contains("Q is"), "{solution}");
    let differences = found(&|evidence| {
        let certificate = evidence.certificate.as_mut().unwrap();
        certificate.differences.iter_mut().for_each(|difference| *difference *= 0.3);
    });
    assert!(differences.contains("bochner.certificate_tolerance failed 2 times in 2"), "{differences}");
    // Bounds for far more features than there are.
    let draws = found(&|evidence| (evidence.draw_count, evidence.feature_count) = (10_000, 20_000));
    assert!(draws.contains("wang.theorem1: bound") && draws.contains("bochner.theorem1_relative: bound"), "{draws}");
    let scores = found(&|evidence| evidence.calibration_scores.as_mut().unwrap().truncate(30));
    let coverage = scores.split("conformal: ").nth(1).and_then(|text| text.split(' ').next());
    let coverage: f64 = coverage.and_then(|number| number.parse().ok()).expect("too few rows are covered");
    assert!(coverage < 0.6, "{scores}");
}

/// Thirty models: every kernel, sampling and kind of λ occurs, with and without every part of the split.
#[test]
fn no_statement_about_thirty_models_is_false() {
    let concrete = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/concrete.csv.gz");
    let tables: Vec<Table> = made_tables().into_iter().chain(Table::read(concrete)).collect();
    assert_eq!(tables.len(), 6);
    let ledger = examine(&tables, 30);
    assert_eq!(ledger.violations(), Vec::<String>::new(), "{ledger}");
    assert!(ledger.checks_of("bochner.theorem1_relative") >= 5, "{ledger}");
    assert!(ledger.checks_of("bochner.certificate_tolerance") >= 5, "{ledger}");
    assert!(ledger.checks_of("bochner.certificate_scaled") >= 5, "{ledger}");
    assert!(ledger.checks_of("avron.theorem7") >= 2, "{ledger}");
    assert!(ledger.checks_of("wang.theorem1") >= 2, "{ledger}");
    assert!(ledger.checks_of("li.corollary1") >= 1, "{ledger}");
}
