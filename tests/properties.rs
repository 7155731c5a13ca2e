//! Properties of the parsers: what is written is read back, the same in every format, and nothing makes them panic. The
//! fuzz targets in `fuzz/` look for the same in more depth. And of sums over rows: any partition, order and tree of merges
//! gives the same bits.
#![allow(clippy::unwrap_used)] // a test may panic

use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use bochner::dataset::{ColumnMoments, CsvOptions, CsvTable, MomentSums};
use bochner::features::Precision;
use bochner::linalg::{BLOCKS_TOGETHER, Real};
use bochner::model::{ARTIFACT_HEADER, FittedModel, decode, encode};
use bochner::random::{Purpose, Stream};
use bochner::serving::{Format, RowReader, RowScan, ScoringRequest, read_request};
use bochner::solver::{BlockGram, GramGrid, GramSums, InstructionSet, Reach, Width};
use bochner::training::{PARTIAL_HEADER, Partial, PassStatistics};
use ndarray::Array2;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::sync::{Arc, LazyLock};

const COMMA: CsvOptions = CsvOptions { delimiter: b',', header: None };
const LEVELS: [&str; 4] = ["blue", "green", "red", "never seen"];

/// A golden model of a number, a category and a boolean.
static MIXED: LazyLock<FittedModel> =
    LazyLock::new(|| decode(include_bytes!("fixtures/artifacts/format-2/ridge.bochner")).unwrap());

/// A golden model of two numbers.
static NUMBERS: LazyLock<FittedModel> =
    LazyLock::new(|| decode(include_bytes!("fixtures/artifacts/format-2/linear.bochner")).unwrap());

fn settings() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() } // 256 cases, or PROPTEST_CASES
}

/// The codes of all rows as bits; none if the table is refused.
fn read_table(format: Format, bytes: &[u8], csv: CsvOptions, model: &FittedModel) -> Option<Vec<u64>> {
    let mut reader = RowReader::open(format, bytes, csv, model).ok()??;
    let mut codes = Vec::new();
    while let Some(block) = reader.next_block().ok()? {
        codes.extend(block.rows().flatten().map(|code| code.to_bits()));
    }
    Some(codes)
}

/// The codes of a JSON request that arrives in two parts, or the refusal.
fn read_json(body: &[u8], cut: usize, model: &FittedModel) -> Result<Vec<u64>, String> {
    let mut scan = RowScan::of_request(model, 1000);
    scan.advance(&body[..cut.min(body.len())], body.len());
    scan.advance(body, body.len());
    let request = read_request(body, scan, model, 1000).map_err(|refusal| format!("{refusal:?}"))?;
    Ok(request.block.rows().flatten().map(|code| code.to_bits()).collect())
}

type MixedRow = (Option<f64>, usize, bool);

fn mixed_rows() -> impl Strategy<Value = Vec<MixedRow>> {
    vec(
        (option::of(any::<f64>().prop_filter("JSON has finite numbers", |x| x.is_finite())), 0..4_usize, any::<bool>()),
        1..20,
    )
}

/// Merges two of the sums after the other, chosen by `picks`, until one is left.
fn merged<S>(mut sums: Vec<S>, picks: &[usize], merge: impl Fn(&mut S, S)) -> S {
    let mut picks = picks.iter().cycle();
    let mut pick = |count: usize| picks.next().unwrap() % count;
    while sums.len() > 1 {
        let other = sums.swap_remove(pick(sums.len()));
        let into = pick(sums.len());
        merge(&mut sums[into], other);
    }
    sums.remove(0)
}

/// Whether the sums of blocks are the same bytes in one go and by any tree of merges of its units.
fn obeys_the_merge_laws<T: Real>(seed: u64, counts: (usize, usize, usize), wide: bool, picks: &[usize]) -> bool {
    let (units, s, k) = counts;
    let mut stream = Stream::new(seed, Purpose::Searches, 0);
    let mut number = || (stream.uniform() - 0.5) * 10_f64.powi((stream.uniform() * 7.0) as i32);
    let mut reach = Reach { feature: 0.0, weight: 0.0, targets: vec![0.0; k] };
    let mut rows = |at: usize| {
        let count = 1 + (seed as usize + 7 * at) % 9;
        let features = Array2::from_shape_fn((count, s), |_| T::from_f64(number()));
        let targets = Array2::from_shape_fn((count, k), |_| number());
        let weights: Option<Vec<f64>> = seed.is_multiple_of(2).then(|| (0..count).map(|_| number().abs()).collect());
        reach.include(&Reach::of(features.view(), targets.view(), weights.as_deref()));
        (features, targets, weights)
    };
    let rows: Vec<_> = (0..units * BLOCKS_TOGETHER - seed as usize % BLOCKS_TOGETHER).map(&mut rows).collect();
    let blocks: Vec<_> = rows.into_iter().map(|(psi, y, c)| BlockGram::of(psi, y.view(), c.as_deref())).collect();
    let grid = GramGrid::new(&reach, if wide { Width::Wide } else { Width::Narrow });
    let sum = |blocks: &[BlockGram<T>]| {
        let mut sums = GramSums::new(s, grid.clone());
        sums.add(blocks, 2).unwrap();
        sums
    };
    let partial = |sums: GramSums| {
        let statistics = PassStatistics::Gram(Precision::Double, Box::new(sums));
        Partial { spec: [1; 32], instructions: InstructionSet::of_this_machine(), statistics }
    };
    let whole = partial(sum(&blocks)).encode();
    let units: Vec<_> = blocks.chunks(BLOCKS_TOGETHER).map(|blocks| partial(sum(blocks))).collect();
    let merge = |sums: &mut Partial, other: Partial| {
        *sums = Partial::decode(&sums.encode()).unwrap(); // as if it had come from elsewhere
        sums.merge(&other).unwrap();
    };
    merged(units, picks, merge).encode() == whole
}

fn arrow_stream(names: &[&str], columns: Vec<ArrayRef>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(names.iter().copied().zip(columns)).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// The same rows as JSON, JSON lines, CSV and Arrow.
fn written(rows: &[MixedRow]) -> (String, String, String, Vec<u8>) {
    let lists: Vec<_> = rows.iter().map(|(x, level, even)| json!([x, LEVELS[*level], even])).collect();
    let lines: Vec<String> = lists.iter().map(ToString::to_string).collect();
    let number = |x: &Option<f64>| x.map_or(String::new(), |x| format!("{x:?}"));
    let cells = rows.iter().map(|(x, level, even)| format!("{},{},{even}\n", number(x), LEVELS[*level]));
    let csv = std::iter::once("x,colour,even\n".to_owned()).chain(cells).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| row.0).collect::<Float64Array>()),
        Arc::new(rows.iter().map(|row| Some(LEVELS[row.1])).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| Some(row.2)).collect::<BooleanArray>()),
    ];
    let arrow = arrow_stream(&["x", "colour", "even"], columns);
    (json!({"rows": lists}).to_string(), lines.join("\n"), csv, arrow)
}

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn every_format_reads_the_same_rows(rows in mixed_rows(), cut in any::<usize>()) {
        let (body, lines, csv, arrow) = written(&rows);
        let expected = read_json(body.as_bytes(), cut % body.len(), &MIXED).unwrap();
        prop_assert_eq!(expected.len(), 3 * rows.len());
        for (codes, (x, _, _)) in expected.chunks(3).zip(&rows) {
            prop_assert!(x.map_or(f64::from_bits(codes[0]).is_nan(), |x| x.to_bits() == codes[0]));
        }
        let tables = [(Format::Ndjson, lines.as_bytes()), (Format::Csv, csv.as_bytes()), (Format::Arrow, arrow.as_slice())];
        for (format, bytes) in tables {
            prop_assert_eq!(read_table(format, bytes, COMMA, &MIXED), Some(expected.clone()), "{:?}", format);
        }
    }

    #[test]
    fn numbers_of_json_rows_survive_to_the_bit(
        rows in vec([any::<f64>(), any::<f64>()], 1..40), cut in any::<usize>(), spaces in any::<bool>(),
    ) {
        let rows: Vec<[f64; 2]> = rows.into_iter().filter(|row| row.iter().all(|x| x.is_finite())).collect();
        prop_assume!(!rows.is_empty());
        let body = json!({"rows": rows}).to_string();
        let body = if spaces { body.replace(',', " , ") } else { body };
        let expected: Vec<u64> = rows.iter().flatten().map(|x| x.to_bits()).collect();
        prop_assert_eq!(read_json(body.as_bytes(), cut % body.len(), &NUMBERS), Ok(expected));
    }

    #[test]
    fn a_body_in_parts_is_read_or_refused_as_the_whole(
        rows in mixed_rows(), cut in any::<usize>(), at in any::<usize>(), noise in vec(any::<u8>(), 0..6),
    ) {
        let mut body = written(&rows).0.into_bytes();
        let (at, cut) = (at % body.len(), cut % body.len());
        body.splice(at..(at + 2).min(body.len()), noise);
        for model in [&*MIXED, &*NUMBERS] {
            prop_assert_eq!(read_json(&body, cut, model), read_json(&body, body.len(), model));
        }
    }

    #[test]
    fn cells_of_csv_are_read_as_they_were_written(rows in vec(vec("[ -~\r\n\"é]{0,12}", 3), 1..12)) {
        let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
        let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",");
        let text = format!("a,b,c\n{}\n", rows.iter().map(line).collect::<Vec<_>>().join("\r\n"));
        let mut table = CsvTable::new(text.as_bytes(), COMMA, 3).unwrap();
        for row in &rows {
            prop_assert!(table.advance().unwrap());
            for (column, cell) in row.iter().enumerate() {
                prop_assert_eq!(table.cell(column).unwrap().as_bytes(), cell.as_bytes().trim_ascii());
            }
        }
        prop_assert!(!table.advance().unwrap());
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in vec(any::<u8>(), 0..300), format in 0..3_usize, choice in any::<u8>()) {
        let csv = CsvOptions { delimiter: b",;\t|"[usize::from(choice & 3)], header: [None, Some(true), Some(false)][usize::from(choice) % 3] };
        let format = [Format::Csv, Format::Ndjson, Format::Arrow][format];
        for model in [&*MIXED, &*NUMBERS] {
            let _ = read_table(format, &bytes, csv, model);
            let _ = read_json(&bytes, bytes.len() / 2, model);
            let _ = ScoringRequest::read(&bytes, model, 100);
        }
    }

    #[test]
    fn damaged_arrow_streams_are_refused_or_read(rows in mixed_rows(), at in any::<usize>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut stream = written(&rows).3;
        let at = at % stream.len();
        if cut { stream.truncate(at) } else { stream[at] = byte }
        let _ = read_table(Format::Arrow, &stream, COMMA, &MIXED);
    }

    #[test]
    fn artifacts_with_a_right_checksum_and_wrong_bytes_do_not_panic(at in any::<usize>(), noise in vec(any::<u8>(), 1..12)) {
        let mut bytes = encode(&MIXED).unwrap();
        let at = ARTIFACT_HEADER + at % (bytes.len() - ARTIFACT_HEADER);
        let end = (at + noise.len()).min(bytes.len());
        bytes.splice(at..end, noise);
        let length = (bytes.len() - ARTIFACT_HEADER) as u64;
        bytes[12..20].copy_from_slice(&length.to_le_bytes());
        let checksum = Sha256::digest(&bytes[ARTIFACT_HEADER..]);
        bytes[20..52].copy_from_slice(&checksum);
        if let Ok(model) = decode(&bytes) {
            model.describe();
            let written = encode(&model).unwrap();
            prop_assert_eq!(encode(&decode(&written).unwrap()).unwrap(), written);
        }
    }

    #[test]
    fn artifacts_with_a_wrong_checksum_are_refused(at in any::<usize>(), bit in 0..8_u32) {
        let mut bytes = encode(&MIXED).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        prop_assert!(decode(&bytes).is_err(), "byte {} of {}", at, bytes.len());
    }

    #[test]
    fn gram_sums_are_the_same_for_any_partition_order_and_tree(
        seed in any::<u64>(), counts in (1..9_usize, 1..70_usize, 0..4_usize), wide in any::<bool>(),
        picks in vec(any::<usize>(), 1..40),
    ) {
        prop_assert!(obeys_the_merge_laws::<f64>(seed, counts, wide, &picks));
        prop_assert!(obeys_the_merge_laws::<f32>(seed, counts, wide, &picks));
    }

    #[test]
    fn moments_are_the_same_for_any_partition_order_and_tree(
        blocks in vec(vec(any::<f64>().prop_filter("cells are finite or missing", |x| !x.is_infinite()), 0..20), 1..20),
        picks in vec(any::<usize>(), 1..40),
    ) {
        let sum = |blocks: &[Vec<f64>]| {
            let mut sums = MomentSums::EMPTY;
            for block in blocks {
                let mut moments = ColumnMoments::EMPTY;
                for value in block {
                    moments.observe(*value);
                }
                sums.add(&moments);
            }
            sums
        };
        let parts: Vec<_> = blocks.chunks(2).map(sum).collect();
        let merged = merged(parts, &picks, |sums, other| sums.merge(&other));
        prop_assert_eq!(merged, sum(&blocks));
        let (found, whole) = (merged.moments(), sum(&blocks).moments());
        prop_assert_eq!(found.mean().to_bits(), whole.mean().to_bits());
        prop_assert_eq!(found.variance().to_bits(), whole.variance().to_bits());
    }

    #[test]
    fn partial_statistics_with_a_right_checksum_and_wrong_bytes_do_not_panic(at in any::<usize>(), noise in vec(any::<u8>(), 1..12)) {
        let features = Array2::from_shape_fn((20, 3), |(i, j)| ((i * 3 + j) as f64).sin());
        let sums = GramSums::of(features.clone(), features.view(), None).unwrap();
        let statistics = PassStatistics::Gram(Precision::Double, Box::new(sums));
        let partial = Partial { spec: [1; 32], instructions: InstructionSet::of_this_machine(), statistics };
        let mut bytes = partial.encode();
        let at = at % bytes.len();
        let end = (at + noise.len()).min(bytes.len());
        bytes.splice(at..end, noise);
        if bytes.len() >= PARTIAL_HEADER {
            bytes[72..104].fill(0);
            let checksum = Sha256::digest(&bytes);
            bytes[72..104].copy_from_slice(&checksum);
        }
        if let Ok(mut found) = Partial::decode(&bytes) {
            prop_assert_eq!(&found.encode(), &bytes);
            let _ = found.merge(&partial);
            if let PassStatistics::Gram(_, sums) = found.statistics {
                let _ = sums.finish().weight();
            }
        }
    }
}
