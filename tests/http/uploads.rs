//! The same table in every format, and files that are not what they seem.

use crate::harness::{Answer, Service};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int64Array, ListArray,
    RecordBatch, StringArray, TimestampMicrosecondArray,
    types::{Float64Type, Int32Type},
};
use axum::body::Body;
use axum::http::Request;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

const UPLOAD: &str = "/api/v1/datasets?target=y";
const CSV: &str = "text/csv";
const NDJSON: &str = "application/x-ndjson";
const JSON: &str = "application/json";
const STREAM: &str = "application/vnd.apache.arrow.stream";
const FILE: &str = "application/vnd.apache.arrow.file";
const PARQUET: &str = "application/vnd.apache.parquet";

/// A number, a whole number with gaps, a truth value, a text that needs quotes, and a target.
type Row = (f64, Option<i64>, bool, &'static str, f64);

fn rows(count: usize) -> Vec<Row> {
    let levels = ["red", "a \"b\", c", "two\nlines", "é"];
    let row = |index: usize| {
        let x = (index as f64 * 0.37).sin() * 1e3 / 7.0;
        let whole = (!index.is_multiple_of(5)).then(|| i64::try_from(index).unwrap() * 3 - 7);
        (x, whole, index.is_multiple_of(3), levels[index % 4], (x / 50.0).tanh() + index as f64 / 1e4)
    };
    (0..count).map(row).collect()
}

fn csv(rows: &[Row]) -> String {
    let mut text = "x,whole,even,colour,y\n".to_owned();
    for (x, whole, even, colour, y) in rows {
        let whole = whole.map(|whole| format!("{whole}")).unwrap_or_default();
        writeln!(text, "{x:?},{whole},{even},\"{}\",{y:?}", colour.replace('"', "\"\"")).unwrap();
    }
    text
}

fn objects(rows: &[Row]) -> Vec<Value> {
    let object =
        |(x, whole, even, colour, y): &Row| json!({"x": x, "whole": whole, "even": even, "colour": colour, "y": y});
    rows.iter().map(object).collect()
}

fn columns(rows: &[Row]) -> Value {
    json!({
        "x": rows.iter().map(|row| row.0).collect::<Vec<_>>(),
        "whole": rows.iter().map(|row| row.1).collect::<Vec<_>>(),
        "even": rows.iter().map(|row| row.2).collect::<Vec<_>>(),
        "colour": rows.iter().map(|row| row.3).collect::<Vec<_>>(),
        "y": rows.iter().map(|row| row.4).collect::<Vec<_>>(),
    })
}

fn batch(rows: &[Row]) -> RecordBatch {
    let colours: DictionaryArray<Int32Type> = rows.iter().map(|row| row.3).collect();
    let arrays: [(&str, ArrayRef); 5] = [
        ("x", Arc::new(rows.iter().map(|row| row.0).collect::<Float64Array>())),
        ("whole", Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>())),
        ("even", Arc::new(rows.iter().map(|row| Some(row.2)).collect::<BooleanArray>())),
        ("colour", Arc::new(colours)),
        ("y", Arc::new(rows.iter().map(|row| row.4).collect::<Float64Array>())),
    ];
    RecordBatch::try_from_iter(arrays).unwrap()
}

fn parquet(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let properties =
        WriterProperties::builder().set_compression(compression).set_max_row_group_row_count(Some(128)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn arrow_stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn arrow_file(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What does not depend on the format.
async fn content(service: &Service, uploaded: &Answer) -> (Value, Vec<u8>) {
    let mut dataset = uploaded.ok(201);
    let id = dataset["id"].as_str().unwrap().to_owned();
    for of_the_file in ["id", "name", "bytes", "sha256", "created_at"] {
        dataset.as_object_mut().unwrap().remove(of_the_file);
    }
    let preview = service.get(&format!("/api/v1/datasets/{id}/preview?rows=1000")).await.json();
    (dataset, preview["rows"].to_string().into_bytes())
}

#[tokio::test]
async fn the_same_table_in_every_format_is_the_same_dataset() {
    let service = Service::start();
    let rows = rows(500);
    let expected = content(&service, &service.post_as(UPLOAD, CSV, csv(&rows)).await).await;
    let lines = objects(&rows).iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let batch = batch(&rows);
    let bodies: Vec<(&str, Vec<u8>)> = vec![
        (NDJSON, lines.into_bytes()),
        (JSON, json!(objects(&rows)).to_string().into_bytes()),
        (JSON, columns(&rows).to_string().into_bytes()),
        (STREAM, arrow_stream(&batch)),
        (FILE, arrow_file(&batch)),
        (PARQUET, parquet(&batch, Compression::SNAPPY)),
        (PARQUET, parquet(&batch, Compression::ZSTD(ZstdLevel::default()))),
        (PARQUET, parquet(&batch, Compression::GZIP(GzipLevel::default()))),
        (PARQUET, parquet(&batch, Compression::LZ4_RAW)),
    ];
    for (media_type, body) in bodies {
        let found = content(&service, &service.post_as(UPLOAD, media_type, body).await).await;
        assert_eq!(found.0, expected.0, "{media_type}");
        assert!(found.1 == expected.1, "{media_type}: other cells");
    }
}

#[tokio::test]
async fn models_do_not_depend_on_the_format() {
    let service = Service::start();
    let rows = rows(300);
    let mut weights = Vec::new();
    for (name, media_type, body) in
        [("a", CSV, csv(&rows).into_bytes()), ("b", PARQUET, parquet(&batch(&rows), Compression::UNCOMPRESSED))]
    {
        let id = service.post_as(UPLOAD, media_type, body).await.ok(201)["id"].clone();
        let job = service.train(name, id.as_str().unwrap(), &json!({"features": {"count": 32, "seed": 5}})).await;
        assert_eq!(job["status"], "succeeded", "{job}");
        let rows = json!({"rows": [[12.5, 3, true, "red"], [-90.0, null, false, "é"]]});
        weights
            .push(service.post(&format!("/api/v1/models/{name}/predict"), &rows).await.json()["predictions"].clone());
    }
    assert_eq!(weights[0], weights[1]);
}

#[tokio::test]
async fn formats_are_recognised_when_nothing_names_them() {
    let service = Service::start();
    let rows = rows(60);
    let expected = content(&service, &service.post_as(UPLOAD, CSV, csv(&rows)).await).await;
    let lines = objects(&rows).iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let tabs = "x\twhole\ty\n1\t2\t3\n2\t1\t4\n3\t5\t6\n".to_owned();
    let packed = parquet(&batch(&rows), Compression::SNAPPY);
    for body in [
        lines.clone().into_bytes(),
        columns(&rows).to_string().into_bytes(),
        packed.clone(),
        gzip(format!("{lines}\n").as_bytes()),
    ] {
        let found = content(&service, &service.post_as(UPLOAD, "application/octet-stream", body).await).await;
        assert!(found == expected);
    }
    let request = Request::post(UPLOAD).body(Body::from(tabs)).unwrap();
    assert_eq!(service.send(request).await.ok(201)["columns"].as_array().unwrap().len(), 3);
    let put = Request::put("/api/v1/datasets/waves.parquet?target=y").body(Body::from(packed.clone())).unwrap();
    assert_eq!(service.send(put).await.ok(200)["name"], "waves.parquet"); // the bytes are known already
    assert_eq!(service.get("/api/v1/datasets/waves.parquet").await.ok(200)["rows"], 60);

    let wrong = service.post_as(UPLOAD, CSV, packed).await.refused(415, "unsupported_media_type");
    assert_eq!(wrong["detail"], "this is a Parquet file: send it as application/vnd.apache.parquet");
    let wrong = service.post_as(UPLOAD, CSV, gzip(b"a,y\n1,2\n")).await.refused(415, "unsupported_media_type");
    assert!(wrong["detail"].as_str().unwrap().contains("content-encoding: gzip"), "{wrong}");
    let wrong = service.post_as(UPLOAD, PARQUET, csv(&rows)).await.refused(415, "unsupported_media_type");
    assert!(wrong["detail"].as_str().unwrap().contains("text/csv"), "{wrong}");
}

#[tokio::test]
async fn types_become_exact_text_and_nested_ones_are_refused_by_name() {
    let service = Service::start();
    let day = Date32Array::from(vec![20_000, 20_001, 20_002, 20_003]);
    let instant = TimestampMicrosecondArray::from(vec![0, 1_500_000, 2, 3]).with_timezone("Europe/Paris");
    let money = Decimal128Array::from(vec![1, 250, -3, 999]).with_precision_and_scale(9, 2).unwrap();
    let y = Float64Array::from(vec![1.0, 2.0, 3.0, 4.5]);
    let named: [(&str, ArrayRef); 4] =
        [("day", Arc::new(day)), ("at", Arc::new(instant)), ("money", Arc::new(money)), ("y", Arc::new(y))];
    let batch = RecordBatch::try_from_iter(named).unwrap();
    let from_csv = "day,at,money,y\n2024-10-04,1970-01-01T00:00:00Z,0.01,1.0\n2024-10-05,1970-01-01T00:00:01.500Z,2.50,2.0\n\
                    2024-10-06,1970-01-01T00:00:00.000002Z,-0.03,3.0\n2024-10-07,1970-01-01T00:00:00.000003Z,9.99,4.5\n";
    let expected = content(&service, &service.post_as(UPLOAD, CSV, from_csv).await).await;
    let found = content(&service, &service.post_as(UPLOAD, PARQUET, parquet(&batch, Compression::SNAPPY)).await).await;
    assert_eq!(found.0, expected.0);
    assert!(found.1 == expected.1);

    let lists = ListArray::from_iter_primitive::<Float64Type, _, _>([Some([Some(1.0)]), Some([Some(2.0)])]);
    let pair: [(&str, ArrayRef); 2] = [("parts", Arc::new(lists)), ("y", Arc::new(StringArray::from(vec!["a", "b"])))];
    let nested = RecordBatch::try_from_iter(pair).unwrap();
    for (media_type, body) in
        [(PARQUET, parquet(&nested, Compression::SNAPPY)), (STREAM, arrow_stream(&nested)), (FILE, arrow_file(&nested))]
    {
        let refused = service.post_as(UPLOAD, media_type, body).await.refused(422, "invalid_table");
        assert_eq!(refused["detail"], "column 'parts' holds lists; write one column for each value", "{media_type}");
    }
    let nested = "{\"a\": 1, \"y\": 2}\n{\"a\": [1], \"y\": 2}\n";
    let refused = service.post_as(UPLOAD, NDJSON, nested).await.refused(422, "invalid_table");
    assert_eq!((&refused["errors"][0]["line"], &refused["errors"][0]["column"]), (&json!(2), &json!("a")));
}

#[tokio::test]
async fn libsvm_is_filled_with_zeros() {
    let service = Service::start();
    let text = "1.5 1:2 3:-1 # a comment\n\n2 2:0.25\n3 1:4\n4 3:1e2\n";
    let found = content(&service, &service.post_as("/api/v1/datasets", "text/x-libsvm", text).await).await;
    let csv = "x1,x2,x3,label\n2,0,-1,1.5\n0,0.25,0,2\n4,0,0,3\n0,0,1e2,4\n";
    let expected = content(&service, &service.upload("", csv).await).await;
    assert!(found == expected);
    for (text, line) in [("1 2:1 1:2\n", 1), ("1 1:2\nx 1:2\n", 2), ("1 1:2\n1 a:2\n", 2), ("1 1:2\n1 qid:3 1:2\n", 2)]
    {
        let refused = service.post_as("/api/v1/datasets", "text/x-libsvm", text).await.refused(422, "invalid_table");
        assert_eq!(refused["errors"][0]["line"], line, "{refused}");
    }
    let far = service.post_as("/api/v1/datasets", "text/x-libsvm", "1 4294967295:1\n").await;
    far.refused(422, "invalid_table");
}

fn form(parts: &[(&str, &str)]) -> String {
    let part = |(disposition, value): &(&str, &str)| {
        format!("--b\r\ncontent-disposition: form-data; {disposition}\r\n\r\n{value}\r\n")
    };
    parts.iter().map(part).collect::<String>() + "--b--\r\n"
}

#[tokio::test]
async fn forms_are_read_unless_another_site_may_have_sent_them() {
    let service = Service::start();
    let table = csv(&rows(40));
    let body = form(&[
        ("name=\"file\"; filename=\"waves.csv\"", &table),
        ("name=\"target\"", "y"),
        ("name=\"name\"", "waves"),
    ]);
    let send = |header: Option<(&'static str, &'static str)>, body: String| {
        let request = Request::post("/api/v1/datasets").header("content-type", "multipart/form-data; boundary=b");
        let request = header.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        service.send(request.body(Body::from(body)).unwrap())
    };
    let browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36";
    for header in [None, Some(("user-agent", browser)), Some(("sec-fetch-site", "same-site"))] {
        send(header, body.clone()).await.refused(415, "unsupported_media_type");
    }
    send(Some(("origin", "http://evil.example")), body.clone()).await.refused(403, "origin_not_allowed");
    for sent_by_browsers in ["sec-fetch-site", "accept-language", "referer"] {
        let request = Request::post("/api/v1/datasets").header("content-type", "multipart/form-data; boundary=b");
        let disguised = request.header("user-agent", "curl/8.5.0").header(sent_by_browsers, "none");
        let refused = service.send(disguised.body(Body::from(body.clone())).unwrap()).await;
        refused.refused(415, "unsupported_media_type");
    }
    let first = send(Some(("user-agent", "curl/8.5.0")), body.clone()).await.ok(201);
    assert_eq!((&first["name"], &first["target"], &first["rows"]), (&json!("waves"), &json!("y"), &json!(40)));
    for header in [("origin", "http://localhost"), ("x-requested-with", "fetch"), ("sec-fetch-site", "same-origin")] {
        send(Some(header), body.clone()).await.ok(200);
    }
    let curl = Some(("user-agent", "curl/8.5.0"));
    send(curl, form(&[("name=\"target\"", "y")])).await.refused(400, "malformed_request");
    send(curl, form(&[("name=\"file\"", &table), ("name=\"tarjet\"", "y")])).await.refused(400, "malformed_request");
    send(curl, body[..body.len() / 2].to_owned()).await.refused(400, "unreadable_body");
}

/// What is said about columns counts in every format and in every way to send a table.
#[tokio::test]
async fn columns_are_described_alike_for_every_way_to_upload() {
    let service = Service::start();
    let row = |i: usize| format!("{},2026-03-{:02},{},{}", i % 4, i + 1, ["lost", "7", "8"][i % 3], i * i);
    let lines: Vec<String> = (0..24).map(row).collect();
    let table = format!("rooms,day,left,y\n{}\n", lines.join("\n"));
    let said = "target=y&categorical=rooms&missing=lost&ignore=left";
    let expected = content(&service, &service.upload(said, table.clone()).await).await;
    let kinds: Vec<&Value> = expected.0["columns"].as_array().unwrap().iter().map(|column| &column["kind"]).collect();
    assert_eq!(kinds, ["categorical", "date", "numeric", "target"]);
    assert_eq!(expected.0["columns"][2]["left_out"], "ignored");

    let object = |line: &String| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |cell: &str| cell.parse::<i64>().map_or(json!(cell), |number| json!(number));
        json!({"rooms": number(cells[0]), "day": cells[1], "left": number(cells[2]), "y": number(cells[3])})
    };
    let objects = json!(lines.iter().map(object).collect::<Vec<_>>());
    let found = service.post_as(&format!("/api/v1/datasets?{said}"), JSON, objects.to_string()).await;
    assert_eq!(content(&service, &found).await, expected);
    let put = Request::put(format!("/api/v1/datasets/flats.csv?{said}")).body(Body::from(table.clone())).unwrap();
    service.send(put).await.ok(200); // the same bytes, read in the same way
    let body = form(&[
        ("name=\"file\"; filename=\"flats.csv\"", &table),
        ("name=\"target\"", "y"),
        ("name=\"categorical\"", "rooms"),
        ("name=\"missing\"", "lost"),
        ("name=\"ignore\"", "left"),
    ]);
    let request = Request::post("/api/v1/datasets").header("content-type", "multipart/form-data; boundary=b");
    service.send(request.header("x-requested-with", "fetch").body(Body::from(body)).unwrap()).await.ok(200);

    let refused = service.post_as("/api/v1/datasets?decimal=comma", JSON, objects.to_string()).await;
    refused.refused(422, "invalid_parameter");
    let mixed: Vec<Value> =
        (0..40).map(|i| json!({"a": if i % 4 == 3 { json!("broken") } else { json!(i) }, "y": i})).collect();
    let refused = service.post_as("/api/v1/datasets", JSON, json!(mixed).to_string()).await;
    let detail = refused.refused(422, "invalid_column")["detail"].to_string();
    assert!(detail.contains("'broken' (row 4)"), "{detail}");
}

/// Bytes of good files, changed: the service answers each with a reason, and goes on.
#[tokio::test]
async fn damaged_files_end_only_their_reader() {
    let service = Service::start();
    let batch = batch(&rows(200));
    let seeds =
        [(PARQUET, parquet(&batch, Compression::SNAPPY)), (FILE, arrow_file(&batch)), (STREAM, arrow_stream(&batch))];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for round in 0..60 {
        let (media_type, seed) = &seeds[round % 3];
        let mut bytes = seed.clone();
        for _ in 0..=draw(6) {
            let at = draw(bytes.len());
            match draw(4) {
                0 => bytes[at] = draw(256) as u8,
                1 => bytes[at] = 0xff,
                2 => bytes.truncate(at.max(16)),
                _ => bytes[at] ^= 1 << draw(8),
            }
        }
        let status = service.post_as(UPLOAD, media_type, bytes).await.status.as_u16();
        assert!([200, 201, 415, 422].contains(&status), "round {round}: {status}");
    }
    service.post_as(UPLOAD, PARQUET, seeds[0].1.clone()).await.ok(201);
}
