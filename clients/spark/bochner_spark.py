"""The Spark side of `bochner train --engine spark`: one session that runs passes on request.

The program `bochner` starts this file, which is part of it, and talks to it in lines of JSON. Every pass is a DataFrame of
files, mapped by `bochner pass` on the executors and merged by `bochner merge`; nothing but the DataFrame API is used, so that
classic sessions and Spark Connect do the same. Sums are integers: partitions, retries and the order of merges cannot change
them.
"""

import json
import os
import sys
import threading

from bochner_files import Refused, files_at, last_words, literal

# Partitions above which statistics are merged in two steps.
MERGED_AT_ONCE = 16
MOST_PARTITIONS = 200


def pieces_of_files(program, kind, root, task):
    """A function for mapInArrow: paths in, statistics in tiles out. Everything it needs is inside, since it is pickled."""

    def run(batches):
        import subprocess
        import tempfile

        files = [path for batch in batches for group in batch.column(1).to_pylist() for path in group]
        if not files:
            return
        with tempfile.NamedTemporaryFile(suffix=".json") as written:
            written.write(task)
            written.flush()
            command = [program, "pass", kind, "--task", written.name, "--root", root, "--threads", "1", "--", *files]
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            output, words = process.communicate()
        yield from tiles(process.returncode, output, words)

    tiles = tiles_of_output()
    return run


def pieces_of_rows(program, kind, columns, task):
    """The same for rows that Spark reads: they go to the program as a stream, file after file."""

    def run(batches):
        import subprocess
        import tempfile
        from urllib.parse import unquote

        import pyarrow

        first = next((batch for batch in batches if batch.num_rows > 0), None)
        if first is None:
            return
        with tempfile.NamedTemporaryFile(suffix=".json") as written:
            written.write(task)
            written.flush()
            command = [program, "pass", kind, "--task", written.name, "--threads", "1"]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            name, writer, rows, total = None, None, 0, 0

            def number(value, size):
                process.stdin.write(value.to_bytes(size, "little"))

            def end_file():
                writer.close()
                number(rows, 8)

            def stretches(batch):
                files = batch.column(len(columns))
                start = 0
                while start < batch.num_rows:
                    file, end = files[start].as_py(), batch.num_rows
                    if files[end - 1].as_py() != file:
                        end = next(row for row in range(start, end) if files[row].as_py() != file)
                    yield unquote(file).rsplit("/", 1)[-1], batch.slice(start, end - start)
                    start = end

            def batches_again():
                yield first
                yield from batches

            refusal = None
            try:
                process.stdin.write(b"BOCHROWS")
                number(1, 4)
                for batch in batches_again():
                    for file, stretch in stretches(batch):
                        if file != name:
                            if writer is not None:
                                end_file()
                            name, rows = file, 0
                            encoded = file.encode()
                            number(len(encoded), 4)
                            process.stdin.write(encoded)
                            schema = pyarrow.schema(list(stretch.schema)[: len(columns)])
                            writer = pyarrow.ipc.new_stream(process.stdin, schema)
                        places = stretch.column(len(columns) + 1)
                        if (places[0].as_py(), places[len(places) - 1].as_py()) != (rows, rows + len(places) - 1):
                            refusal = f"file '{file}': Spark has cut it or changed the order of its rows"
                            raise BrokenPipeError
                        only = pyarrow.RecordBatch.from_arrays(stretch.columns[: len(columns)], schema=schema)
                        writer.write_batch(only)
                        rows += stretch.num_rows
                        total += stretch.num_rows
                end_file()
                number(0, 4)
                number(total, 8)
                process.stdin.close()
            except BrokenPipeError:
                pass  # the program has said why, or was killed
            process.stdin = None
            if refusal is not None:
                process.kill()
            output, words = process.communicate()
        yield from tiles(process.returncode, output, words) if refusal is None else tiles(1, b"", refusal.encode())

    tiles = tiles_of_output()
    return run


def merged_pieces(program):
    """A function for mapInArrow: tiles of several statistics in, tiles of their sum out."""

    def run(batches):
        import subprocess

        process, refusal = None, None
        try:
            for batch in batches:
                for tile, piece in zip(batch.column(1).to_pylist(), batch.column(2)):
                    if tile < 0:
                        refusal = piece.as_py()
                        break
                    if process is None:
                        process = subprocess.Popen(
                            [program, "merge"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
                        )
                    process.stdin.write(piece.as_buffer())
                if refusal is not None:
                    break
            if process is not None and refusal is None:
                process.stdin.close()
        except BrokenPipeError:
            pass  # the program has said why, or was killed
        if refusal is not None:
            if process is not None:
                process.kill()
                process.wait()
            yield from tiles(1, b"", refusal)
        elif process is not None:
            process.stdin = None
            output, words = process.communicate()
            yield from tiles(process.returncode, output, words)

    tiles = tiles_of_output()
    return run


def tiles_of_output():
    """The output of a process in tiles of 4 MiB. A refusal travels as tile -1; a process that was killed fails its task, which
    Spark then tries again."""

    def tiles(code, output, words):
        import pyarrow
        from pyspark import TaskContext

        schema = pyarrow.schema([("part", pyarrow.int32()), ("tile", pyarrow.int32()), ("bytes", pyarrow.binary())])
        part = TaskContext.get().partitionId()

        def batch(tile, piece):
            return pyarrow.RecordBatch.from_pylist([{"part": part, "tile": tile, "bytes": bytes(piece)}], schema=schema)

        if code < 0:
            raise RuntimeError(f"bochner was ended by signal {-code}")
        if code > 0:
            yield batch(-1, words.strip().removeprefix(b"bochner: "))
            return
        view, size = memoryview(output), 4 << 20
        for tile in range(0, (len(view) + size - 1) // size):
            yield batch(tile, view[tile * size : (tile + 1) * size])

    return tiles


SCHEMA = "part int, tile int, bytes binary"


class Session:
    """A Spark session and the files that its passes go over."""

    def __init__(self, master, conf, program, partitions, reader):
        from pyspark.sql import SparkSession

        if master.startswith("local"):  # executors on this machine; elsewhere they have a Python of their own
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        self.program, self.asked_partitions, self.reader = program, partitions, reader
        builder = SparkSession.builder.appName("bochner")
        settings = {}
        if master.startswith("sc://"):  # the server has its own settings
            builder = builder.remote(master)
        else:
            builder = builder.master(master)
            settings = {"spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false"}
        settings.update(setting.split("=", 1) for setting in conf)
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()
        self.spark.conf.set("spark.sql.caseSensitive", "true")

    def use(self, root, files, largest_file):
        """Passes go over these files from now on: paths of this machine and the executors, or URIs."""
        self.root, self.files = root, files
        self.partitions = self.asked_partitions or max(1, min(len(files), MOST_PARTITIONS))
        if self.reader == "spark":  # so that no file is cut, and files are spread over partitions
            self.spark.conf.set("spark.sql.files.maxPartitionBytes", str(max(largest_file, 1)))
            self.spark.conf.set("spark.sql.files.openCostInBytes", "0")
            self.spark.conf.set("spark.sql.files.minPartitionNum", "1")

    def listed(self, location):
        """The files of a folder that only Spark can read; passes go over them from now on."""
        files = files_at(self.spark, location)
        self.use(location, [file["path"] for file in files], max((file["bytes"] for file in files), default=1))
        return files

    def mapped(self, kind, columns, task):
        if self.reader == "spark":
            from pyspark.sql.functions import col

            # A path without a scheme is one of the default file system of the cluster.
            paths = [path if "://" in path else f"file://{path}" for path in self.files]
            rows = self.spark.read.parquet(*map(literal, paths))
            quoted = [col("`" + name.replace("`", "``") + "`") for name in columns]
            rows = rows.select(*quoted, col("_metadata.file_path"), col("_metadata.row_index"))
            return rows.mapInArrow(pieces_of_rows(self.program, kind, columns, task), SCHEMA)
        groups = [(group, self.files[group :: self.partitions]) for group in range(self.partitions)]
        frame = self.spark.createDataFrame(groups, "part int, files array<string>")
        frame = frame.repartitionByRange(self.partitions, "part")
        return frame.mapInArrow(pieces_of_files(self.program, kind, self.root, task), SCHEMA)

    def run(self, kind, columns, task):
        """The merged statistics, or a refusal."""
        pieces = self.mapped(kind, columns, task)
        steps = [int(self.partitions**0.5)] if self.partitions > MERGED_AT_ONCE else []
        for count in [*steps, 1]:
            pieces = pieces.repartition(count, pieces.part % count).sortWithinPartitions("part", "tile")
            pieces = pieces.mapInArrow(merged_pieces(self.program), SCHEMA)
        rows = sorted((row.tile, bytes(row.bytes)) for row in pieces.select("tile", "bytes").collect())
        if rows and rows[0][0] < 0:
            return None, rows[0][1].decode(errors="replace")
        return b"".join(piece for _, piece in rows), None

    def progress(self):
        """The share of finished tasks of the stages at work, where the session can tell."""
        try:
            tracker = self.spark.sparkContext.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            stages = [stage for stage in stages if stage is not None and stage.numTasks > 0]
            return min((stage.numCompletedTasks / stage.numTasks for stage in stages), default=None)
        except Exception:  # Spark Connect has no tracker
            return None


def main():
    # What Spark or Python print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**members):
        print(json.dumps(members), file=answers, flush=True)

    requests, arrived, idle = [], threading.Condition(), threading.Event()

    def listen():
        for line in sys.stdin:
            with arrived:
                requests.append(json.loads(line))
                idle.clear()
                arrived.notify()
        if not idle.is_set():
            os._exit(0)  # the program has ended; the session, and all it started, end with this process
        with arrived:
            requests.append({"stop": True})
            arrived.notify()

    threading.Thread(target=listen, daemon=True).start()
    session = None
    while True:
        with arrived:
            if not requests:
                idle.set()
            arrived.wait_for(lambda: requests)
            request = requests.pop(0)
        if "stop" in request:
            if session is not None:
                session.spark.stop()
            return
        try:
            if "start" in request:
                session = Session(**request["start"])
                answer(ready=session.spark.version)
                continue
            if "use" in request:
                session.use(**request["use"])
                answer(used=len(session.files))
                continue
            if "list" in request:
                files = session.listed(request["list"]["location"])
                with open(request["list"]["output"], "w") as file:
                    json.dump(files, file)
                answer(listed=len(files))
                continue
            asked = request["pass"]
            with open(asked["task"], "rb") as file:
                task = file.read()
            finished = threading.Event()

            def report():
                while not finished.wait(0.5):
                    done = session.progress()
                    if done is not None:
                        answer(progress=done)

            reporter = threading.Thread(target=report, daemon=True)
            reporter.start()
            try:
                statistics, refusal = session.run(asked["kind"], asked["columns"], task)
            finally:
                finished.set()
                reporter.join()
            if refusal is not None:
                answer(refused=refusal)
                continue
            with open(asked["output"], "wb") as file:
                file.write(statistics)
            answer(done=len(statistics))
        except Refused as refusal:
            answer(refused=str(refusal))
        except Exception as error:
            answer(failed=last_words(error))


if __name__ == "__main__":
    main()
