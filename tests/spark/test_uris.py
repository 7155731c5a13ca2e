"""Tables at URIs that only Spark can read, next to the same files read by their paths: the same bytes.

The file system is ViewFs, which is part of Hadoop: viewfs://tables/data shows a folder of this machine. The program does not know
that, and Spark treats it as any other.
"""

import shutil

import pyarrow
import pyarrow.parquet
import pytest
from test_spark import SPEC, Service, children, expected, files, free_port, gone, refused, spark, table, trained

__all__ = ["expected", "files"]  # fixtures


def shown(folder):
    """The setting that shows a folder at viewfs://tables/data."""
    return f"spark.hadoop.fs.viewfs.mounttable.tables.link./data=file:{folder}"


def test_files_that_only_spark_can_read_give_the_same_model(files, expected, tmp_path):
    uri = f"viewfs://tables/data/{files.name}"
    flags = spark(3, "local[2,4]", "--spark-conf", shown(files.parent))
    assert trained(uri, tmp_path / "m.bochner", *flags) == expected


def test_a_uri_without_spark_and_one_of_many_folders_are_refused(tmp_path):
    said = refused("s3a://bucket/table", tmp_path)
    assert "'s3a://bucket/table' can only be read on Spark: use --engine spark" in said
    for uri, words in [("s3a://bucket/*", "patterns"), ("s3a://bucket/../b", "'..'"), ("s3a://a:b@c/d", "password")]:
        assert words in refused(uri, tmp_path, *spark(1))


@pytest.mark.long
def test_a_job_on_a_uri_gives_the_same_model(files, expected, tmp_path):
    folder = tmp_path / "shown" / "parts"
    shutil.copytree(files, folder)
    location = "viewfs://tables/data/parts"
    with Service(tmp_path / "data", "viewfs://tables/data", settings=[shown(folder.parent)]) as service:
        dataset = service.register(f"{location}/")
        assert (dataset["location"], dataset["rows"]) == (location, 192_819), dataset
        assert service.register(location)["id"] == dataset["id"]
        here = service.call("/api/v1/jobs", {"model": "parts", "dataset": "parts", "spec": SPEC})
        assert (here["code"], here["errors"][0]["pointer"]) == ("invalid_job", "/engine"), here
        done = service.wait(service.submit(), "succeeded", "failed")
        assert done["status"] == "succeeded", done["error"]
        assert service.call("/api/v1/models/parts/versions/1")["artifact_sha256"] == expected
        # Another file, and then other values in one of the same size and number of rows.
        (folder / "more.parquet").write_bytes((folder / "part 00000.parquet").read_bytes())
        changed = service.wait(service.submit(), "succeeded", "failed")
        assert changed["error"]["code"] == "dataset" and "changed since" in changed["error"]["detail"], changed
        assert [version["version"] for version in service.call("/api/v1/models/parts")["versions"]] == [1]
        begun = set(children(service.process.pid))
    gone(begun)


@pytest.mark.long
def test_what_spark_cannot_read_is_refused_by_name_and_leaves_nothing(tmp_path):
    base = tmp_path / "shown"
    for name in ["empty", "differ", "damaged", "deep/within", "good"]:
        (base / name).mkdir(parents=True)
    for name in ["differ", "damaged", "deep/within", "good"]:
        pyarrow.parquet.write_table(table(100, 1), base / name / "a.parquet")
    other = table(100, 2).rename_columns(["a", "b", "count", "flag", "z", "note"])
    pyarrow.parquet.write_table(other, base / "differ/b.parquet")
    (base / "damaged/b.parquet").write_bytes((base / "damaged/a.parquet").read_bytes()[:-10])
    nobody = f"hdfs://127.0.0.1:{free_port()}/table"
    allowed = ["viewfs://tables/data", "viewfs://nobody", "nonesuch://bucket", nobody]
    with Service(tmp_path / "data", *allowed, settings=[shown(base)]) as service:
        for location, code, words in [
            ("viewfs://tables/data/empty", "invalid_parameter", "no file that ends with .parquet"),
            ("viewfs://tables/data/none", "invalid_parameter", "Path does not exist"),
            ("viewfs://tables/data/good/a.parquet", "invalid_parameter", "is a file"),
            ("viewfs://tables/data/deep", "invalid_parameter", "'within' is a folder"),
            ("viewfs://tables/data/differ", "invalid_parameter", "file 'b.parquet': its columns differ from those of 'a.parquet'"),
            ("viewfs://tables/data/damaged", "invalid_parameter", "file 'b.parquet'"),
            ("viewfs://nobody/table", "invalid_parameter", "viewfs://nobody"),
            ("nonesuch://bucket/table", "invalid_parameter", 'No FileSystem for scheme "nonesuch"'),
            (nobody, "invalid_parameter", "Connection refused"),
            ("viewfs://tables/other", "location_not_allowed", "--dataset-locations"),
            ("s3a://bucket/table", "location_not_allowed", "--dataset-locations"),
        ]:
            answer = service.register(location)
            assert answer.get("code") == code and words in answer["detail"], (location, answer)
            assert code != "invalid_parameter" or answer["errors"][0]["pointer"] == "/location"
        body = {"location": "viewfs://tables/data/good", "target": "y"}
        answer = service.call("/api/v1/datasets", body)
        assert "column 'note' holds values of type string" in answer["detail"], answer
        assert service.call("/api/v1/datasets")["datasets"] == []
        assert children(service.process.pid) == {}
    with Service(tmp_path / "lost", "viewfs://tables", master=f"spark://127.0.0.1:{free_port()}") as service:
        answer = service.register("viewfs://tables/data/good")
        assert (answer["status"], answer["code"]) == (502, "cluster_failed"), answer
        assert service.call("/api/v1/datasets")["datasets"] == []
