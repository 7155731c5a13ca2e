//! Artifacts whose checksum is right and whose payload lies: refused or read, never a panic.

use crate::tables::{RowsInMemory, fit, schema, spec, waves};
use bochner::dataset::Task;
use bochner::features::{Kernel, MapKind};
use bochner::model::{ArtifactError, FittedModel, OnnxError, Predictor, decode, encode, to_onnx};
use bochner::serving::{Answer, Output, Outputs};
use bochner::theory::{Circumstances, RowAccess, guarantees};
use bochner::training::train;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::{Duration, Instant};

const HEADER_BYTES: usize = 52;
const LENGTH: std::ops::Range<usize> = 12..20;
const CHECKSUM: std::ops::Range<usize> = 20..52;

/// Length and checksum made right again.
fn seal(bytes: &mut [u8]) {
    let length = (bytes.len() - HEADER_BYTES) as u64;
    bytes[LENGTH].copy_from_slice(&length.to_le_bytes());
    let checksum = Sha256::digest(&bytes[HEADER_BYTES..]);
    bytes[CHECKSUM].copy_from_slice(&checksum);
}

fn model(raw: &Value) -> FittedModel {
    let mut raw = raw.clone();
    raw["guarantees"] = json!({"exact_rows": 0});
    let inputs = if raw["kernel"]["name"] == "spline" { 1 } else { 2 };
    let table = waves(60);
    let cells = table.cells.chunks(3).flat_map(|row| row[2 - inputs..].to_vec()).collect();
    fit(&RowsInMemory { cells, columns: inputs + 1 }, &raw, 1).unwrap().model
}

fn classifier(raw: &Value, classes: usize) -> FittedModel {
    let mut table = waves(90);
    for (row, cells) in table.cells.chunks_mut(3).enumerate() {
        cells[2] = ((row + usize::from(cells[0] > 0.0)) % classes) as f64;
    }
    let mut schema = schema(&table);
    schema.task = Task::Classification;
    schema.columns[2].levels = (0..classes).map(|class| format!("class {class}")).collect();
    schema.columns[2].kind = bochner::dataset::ColumnKind::Categorical;
    let resources = crate::tables::resources(1);
    train(&table, &schema, "ds-test", &spec(raw), resources, &crate::tables::Unwatched).unwrap().model
}

/// Everything that a service does with a model that it has read.
fn use_it(model: FittedModel) {
    model.describe();
    match to_onnx(&model, "waves", 1) {
        Ok(_) | Err(OnnxError::Smoothness { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    if let Some(evidence) = &model.evidence {
        let around = Circumstances {
            rows: RowAccess::Gone,
            validation_rows: 0,
            held_out_rows: 0,
            sample_weights: false,
            kernel_unbounded: false,
            exact_residual: None,
        };
        guarantees(evidence, model.failure_probability, 0.5, &around);
    }
    let outputs = Outputs::known(Output::of(&model), &model);
    let row = vec![0.5; model.inputs.encoding.columns.len()];
    let predictor = Predictor::new(model);
    let predictions = predictor.compute(&[&row], outputs.extras());
    serde_json::to_string(&Answer {
        outputs: &outputs,
        model: predictor.model(),
        predictions: &predictions,
        flags: None,
    })
    .unwrap();
}

/// Every byte of the payload in turn becomes some other: whatever can be read can be used, and soon.
fn every_byte(good: &[u8], name: &str) {
    let mut refused = 0;
    for position in HEADER_BYTES..good.len() {
        for value in [0, 1, 0x7f, 250, 253, 255] {
            let mut bytes = good.to_vec();
            bytes[position] = value;
            seal(&mut bytes);
            let start = Instant::now();
            match decode(&bytes) {
                Ok(model) => use_it(model),
                Err(_) => refused += 1,
            }
            assert!(start.elapsed() < Duration::from_secs(5), "{name}: {value} at {position}");
        }
    }
    assert!(refused > 100, "{name}: {refused}");
}

#[test]
fn a_lie_in_a_committed_artifact_is_refused_or_harmless() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/artifacts");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "bochner") {
            every_byte(&std::fs::read(&path).unwrap(), &path.display().to_string());
        }
    }
}

#[test]
fn a_lie_in_the_payload_is_refused_or_harmless() {
    let features = |sampling: &str| json!({"count": 4, "sampling": sampling});
    for raw in [
        json!({"features": features("plain")}),
        json!({"features": features("structured"), "kernel": {"name": "matern", "nu": 0.5}}),
        json!({"features": features("plain"), "spread": true, "error_bars": true, "intervals": "scaled"}),
        json!({"features": {"count": 4, "map": "phase"}, "updatable": true}),
        json!({"features": {"count": 4}, "kernel": {"name": "spline", "order": 4}}),
        json!({"learner": "exact_krr", "lambda": 0.1, "kernel": {"name": "matern", "nu": 1.2}}),
        json!({"learner": "exact_krr", "lambda": 0.1, "kernel": {"name": "spline"}}),
    ] {
        every_byte(&encode(&model(&raw)).unwrap(), &raw.to_string());
    }
    for (learner, classes) in [("ridge", 2), ("logistic", 3), ("hinge", 3)] {
        let raw = json!({"learner": learner, "features": {"count": 4}, "lambda": 0.01});
        every_byte(&encode(&classifier(&raw, classes)).unwrap(), learner);
    }
}

#[test]
fn kernels_that_training_does_not_make_are_refused() {
    let refused = |map: MapKind, kernel: Kernel| {
        let raw = match (map, kernel) {
            (MapKind::Points, _) => json!({"learner": "exact_krr", "lambda": 0.1}),
            (_, Kernel::Spline { .. }) => json!({"features": {"count": 4}, "kernel": {"name": "spline"}}),
            (_, Kernel::Matern { .. }) => json!({"features": {"count": 4}, "kernel": {"name": "matern"}}),
            _ => json!({"features": {"count": 4}}),
        };
        let mut model = model(&raw);
        assert_eq!(model.map.kind, map);
        model.map.kernel = kernel;
        decode(&encode(&model).unwrap()).is_err()
    };
    for wild in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(MapKind::Pair, Kernel::Gaussian { bandwidth: wild }), "{wild}");
        assert!(refused(MapKind::Points, Kernel::Matern { bandwidth: wild, nu: 1.5 }), "{wild}");
    }
    for nu in [0.0, 0.049, 100.1, 1e300, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(MapKind::Pair, Kernel::Matern { bandwidth: 1.0, nu }), "{nu}");
        assert!(refused(MapKind::Points, Kernel::Matern { bandwidth: 1.0, nu }), "{nu}");
    }
    for order in [0, 1, 3, 22, 4_294_967_292] {
        assert!(refused(MapKind::Spline, Kernel::Spline { order }), "{order}");
    }
    assert!(!refused(MapKind::Spline, Kernel::Spline { order: 20 }));
    assert!(refused(MapKind::Points, Kernel::Spline { order: 2 }), "a spline of two inputs");
    assert!(!refused(MapKind::Points, Kernel::Matern { bandwidth: 1.0, nu: 100.0 }));
}

/// Far from every point the kernel is 0 at once; its integral would take a hundred thousand steps to say so.
#[test]
fn infinite_distances_take_no_time() {
    let raw = json!({"learner": "exact_krr", "lambda": 0.1, "kernel": {"name": "matern", "nu": 1.2}});
    let predictor = Predictor::new(model(&raw));
    let start = Instant::now();
    let far = predictor.predict(&vec![&[1e200, 0.5][..]; 200]);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(far.iter().all(|value| *value == predictor.model().intercepts[0]));
}

fn scores(model: &mut FittedModel) -> &mut Vec<f64> {
    model.evidence.as_mut().unwrap().calibration_scores.as_mut().unwrap()
}

#[test]
fn calibration_that_says_what_nobody_knows_is_refused() {
    let raw = json!({"features": {"count": 4}, "spread": true, "intervals": "scaled"});
    let good = model(&raw);
    assert!(good.calibration_scores().is_some());
    let refused = |change: &dyn Fn(&mut FittedModel)| {
        let mut model = good.clone();
        change(&mut model);
        matches!(
            decode(&encode(&model).unwrap()),
            Err(ArtifactError::Calibration(_) | ArtifactError::Shape("intervals and outputs"))
        )
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|model| model.failure_probability = f64::NAN));
    assert!(refused(&|model| model.failure_probability = 0.0));
    assert!(refused(&|model| model.failure_probability = 1.0));
    assert!(refused(&|model| scores(model)[0] = f64::NAN));
    assert!(refused(&|model| scores(model)[0] = -1.0));
    assert!(refused(&|model| scores(model).reverse()));
    assert!(refused(&|model| model.spread = None));
    assert!(refused(&|model| model.interval_scales.clear()));
    assert!(!refused(&|model| scores(model).push(f64::INFINITY)));
}

/// A file of format 1 with the length that stands before `after` made another.
fn claim_variable(good: &[u8], after: &[u8], length: u64) -> Vec<u8> {
    let at = good.windows(after.len()).position(|window| window == after).unwrap();
    let mut bytes = good[..at - 1].to_vec();
    bytes.push(253); // a number of eight bytes follows
    bytes.extend(length.to_le_bytes());
    bytes.extend(&good[at..]);
    seal(&mut bytes);
    bytes
}

/// The same for format 2, where every length has eight bytes.
fn claim_fixed(good: &[u8], after: &[u8], length: u64) -> Vec<u8> {
    let at = good.windows(after.len()).position(|window| window == after).unwrap();
    let mut bytes = good.to_vec();
    bytes[at - 8..at].copy_from_slice(&length.to_le_bytes());
    seal(&mut bytes);
    bytes
}

/// Were memory given for what a length states, the larger ones would end the process.
#[test]
fn lengths_within_the_payload_are_not_believed() {
    let first = include_bytes!("../fixtures/artifacts/ridge.bochner");
    let second = encode(&model(&json!({"features": {"count": 4}}))).unwrap();
    for (good, text, claim) in [
        (first.as_slice(), "colour", claim_variable as fn(&[u8], &[u8], u64) -> Vec<u8>),
        (&second, "ds-test", claim_fixed),
    ] {
        let weight = decode(good).unwrap().weights[[0, 0]].to_le_bytes();
        for after in [text.as_bytes(), &weight] {
            for length in [good.len() as u64, 1 << 27, 15 << 30, 1 << 46, 1 << 62, u64::MAX] {
                let outcome = decode(&claim(good, after, length));
                assert!(matches!(outcome, Err(ArtifactError::Decode(_))), "{text} {length}");
            }
        }
    }
}

/// Where each section of a file of format 2 begins and ends, with its tag.
fn sections(good: &[u8]) -> Vec<(String, std::ops::Range<usize>)> {
    let mut found = Vec::new();
    let mut at = HEADER_BYTES;
    while at < good.len() {
        let length = u64::from_le_bytes(good[at + 8..at + 16].try_into().unwrap());
        let end = at + 16 + usize::try_from(length).unwrap();
        found.push((String::from_utf8(good[at..at + 4].to_vec()).unwrap(), at..end));
        at = end;
    }
    found
}

fn section(tag: [u8; 4], flags: u32, content: &[u8]) -> Vec<u8> {
    let length = content.len() as u64;
    [tag.as_slice(), flags.to_le_bytes().as_slice(), &length.to_le_bytes(), content].concat()
}

fn refusal(mut bytes: Vec<u8>) -> String {
    seal(&mut bytes);
    decode(&bytes).unwrap_err().to_string()
}

#[test]
fn a_section_of_a_later_release_is_skipped_or_refused_by_name() {
    let model = model(&json!({"features": {"count": 4}}));
    let good = encode(&model).unwrap();
    let first = sections(&good)[0].1.start;
    for at in [first, good.len()] {
        let with = |flags: u32| [&good[..at], &section(*b"NEXT", flags, &[7; 99]), &good[at..]].concat();
        let mut optional = with(0);
        seal(&mut optional);
        assert_eq!(decode(&optional).unwrap(), model);
        assert!(refusal(with(1)).starts_with("section 'NEXT' is required"), "{}", refusal(with(1)));
        assert!(refusal(with(2)).starts_with("section 'NEXT' has flags"), "{}", refusal(with(2)));
    }
    for (format, word) in [(0_u32, "format 0; this build reads 1 and 2"), (3, "format 3; this build reads 1 and 2")] {
        let mut bytes = good.clone();
        bytes[8..12].copy_from_slice(&format.to_le_bytes());
        assert!(refusal(bytes).contains(word));
    }
    let mut bytes = good.clone();
    bytes[8] = 1; // a payload of format 2 under the number of format 1
    refusal(bytes);
}

#[test]
fn damaged_sections_are_refused_by_name() {
    let raw = json!({"features": {"count": 4}, "lambda": 1.0, "kernel": {"bandwidth": "search"}, "spread": true, "error_bars": true, "updatable": true});
    let good = encode(&model(&raw)).unwrap();
    let sections = sections(&good);
    let tags: Vec<&str> = sections.iter().map(|(tag, _)| tag.as_str()).collect();
    let all = [
        "HEAD", "INPT", "RANG", "FEAT", "WGHT", "SPRD", "EBAR", "INTV", "STAT", "ORIG", "REPT", "EVID", "MEAS", "HELD",
        "CHOI", "DIST",
    ];
    assert_eq!(tags, all);
    for (tag, range) in &sections {
        let without = [&good[..range.start], &good[range.end..]].concat();
        if ["RANG", "SPRD", "EBAR", "STAT", "EVID", "HELD", "CHOI", "DIST"].contains(&tag.as_str()) {
            let mut without = without;
            seal(&mut without);
            use_it(decode(&without).unwrap());
        } else {
            assert_eq!(refusal(without), format!("section '{tag}' is missing"));
        }
        let twice = [&good, &good[range.clone()]].concat();
        assert_eq!(refusal(twice), format!("section '{tag}' appears twice"));
        let of_length = |length: u64| {
            let mut bytes = good.clone();
            bytes[range.start + 8..range.start + 16].copy_from_slice(&length.to_le_bytes());
            refusal(bytes)
        };
        for length in [(good.len() - range.start) as u64 - 15, 1 << 62, u64::MAX] {
            assert_eq!(of_length(length), format!("section '{tag}' is longer than the rest of the file"));
        }
        of_length(0);
        let content = &good[range.start + 16..range.end];
        let mut longer = good[..range.start + 8].to_vec();
        longer.extend((content.len() as u64 + 1).to_le_bytes());
        longer.extend([content, &[0], &good[range.end..]].concat());
        assert_eq!(refusal(longer), format!("section '{tag}' has bytes after its last field"));
    }
    assert_eq!(refusal([&good, &[0; 15][..]].concat()), "the payload ends within the header of a section");
    refusal(good[..HEADER_BYTES].to_vec());
}
