//! Artifacts of format 1, written once and committed: every later release must read them and predict the same.

use bochner::model::{Predictor, encode, read_artifact};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Each artifact lies beside a JSON file with rows of codes and what they were predicted to be when it was written.
#[test]
fn what_an_earlier_release_wrote_is_read_and_predicts_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/artifacts");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "bochner") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let expected: Value = serde_json::from_str(&fs::read_to_string(path.with_extension("json")).unwrap()).unwrap();
        let model = read_artifact(bytes.as_slice(), 1 << 30).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        // As long as format 1 is what is written, what is read is written again byte for byte.
        assert_eq!(encode(&model).unwrap(), bytes, "{path:?}");
        let predictor = Predictor::new(model);
        for case in expected.as_array().unwrap() {
            let numbers = |name: &str| -> Vec<f64> {
                case[name].as_array().unwrap().iter().map(|number| number.as_f64().unwrap_or(f64::NAN)).collect()
            };
            let (row, values) = (numbers("codes"), numbers("values"));
            let found = predictor.predict(&[&row]);
            for (found, expected) in found.iter().zip(&values) {
                // Cosines of another vector width may differ in the last bits of f32.
                assert!((found - expected).abs() <= 1e-5 * expected.abs().max(1.0), "{path:?}: {found} {expected}");
            }
            assert_eq!(found.len(), values.len());
        }
        seen += 1;
    }
    assert!(seen >= 4, "{seen} artifacts");
}
