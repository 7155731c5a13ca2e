//! Files of models for other programs. What they compute is tested where those programs are: `tests/clients`.

use crate::harness::Service;

#[tokio::test]
async fn a_version_is_downloaded_as_onnx() {
    let service = Service::with_model().await;
    let answer = service.get("/api/v1/models/waves/versions/1/onnx").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "application/octet-stream");
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"waves-1.onnx\"");
    assert_eq!(answer.bytes[..11], *b"\x08\x08\x12\x07bochner"); // IR version 8, producer
    let metadata = answer.text();
    for told in ["[\"x\",\"colour=blue\",\"colour=green\",\"colour=red\",\"even\"]", "IsNaN", "MatMul", "value"] {
        assert!(metadata.contains(told), "{told}");
    }
    assert_eq!(service.get("/api/v1/models/waves/versions/1/onnx").await.bytes, answer.bytes);
}

#[tokio::test]
async fn what_is_not_there_has_no_file() {
    let service = Service::start();
    service.get("/api/v1/models/waves/versions/1/onnx").await.refused(404, "model_not_found");
    service.get("/api/v1/models/waves/versions/x/onnx").await.refused(422, "invalid_version");
    service.get("/api/v1/models/.waves/versions/1/onnx").await.refused(422, "invalid_model_name");
}
