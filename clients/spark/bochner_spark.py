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

# Bytes of statistics of all partitions that the command merges itself; more are merged on the executors first.
COLLECTED_AT_ONCE = 32 << 20

# Tiles of 4 MiB in one message. Spark would put 10,000 into it, which no message has room for.
TILES_AT_ONCE = 4
TILE = 4 << 20

# Seconds between two looks at how far a pass is.
LOOKS = 2.0

# A session whose work is done elsewhere: one step of optimization is enough for what the JVM does, and little memory is garbage.
# These are defaults of Spark's own kind: spark.driver.extraJavaOptions and the like come behind them.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ParallelGCThreads=2 -XX:ConcGCThreads=1"


def pieces_of_files(program, kind, root, groups, task):
    """A function for mapInArrow: numbers of groups of files in, statistics in tiles out. Everything it needs is inside, since it
    is pickled."""

    def run(batches):
        import subprocess
        import tempfile

        files = [path for batch in batches for group in batch.column(0).to_pylist() for path in groups[group]]
        if not files:
            return
        with tempfile.NamedTemporaryFile(suffix=".json") as written, tempfile.TemporaryFile() as words:
            written.write(task)
            written.flush()
            command = [program, "pass", kind, "--task", written.name, "--root", root, "--threads", "1", "--", *files]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=words)
            yield from tiles(process, words)

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
        with tempfile.NamedTemporaryFile(suffix=".json") as written, tempfile.TemporaryFile() as words:
            written.write(task)
            written.flush()
            command = [program, "pass", kind, "--task", written.name, "--threads", "1"]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words)
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
            yield from tiles(process, words, refusal and refusal.encode())

    tiles = tiles_of_output()
    return run


def merged_pieces(program):
    """A function for mapInArrow: tiles of several statistics in, tiles of their sum out."""

    def run(batches):
        import subprocess
        import tempfile

        process, refusal = None, None
        with tempfile.TemporaryFile() as words:
            try:
                for batch in batches:
                    for tile, piece in zip(batch.column(1).to_pylist(), batch.column(2)):
                        if tile < 0:
                            refusal = piece.as_py()
                            break
                        if process is None:
                            command = [program, "merge"]
                            process = subprocess.Popen(
                                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words
                            )
                        process.stdin.write(piece.as_buffer())
                    if refusal is not None:
                        break
                if process is not None and refusal is None:
                    process.stdin.close()
            except BrokenPipeError:
                pass  # the program has said why, or was killed
            if process is not None or refusal is not None:
                yield from tiles(process, words, refusal)

    tiles = tiles_of_output()
    return run


def tiles_of_output():
    """The output of a process in tiles of 4 MiB, while it is written. A refusal travels as tile -1, which comes before all others
    in their order; a process that was killed fails its task, which Spark then tries again."""

    def tiles(process, words, refusal=None):
        import gc
        import sys
        import zipimport

        import pyarrow
        from pyspark import TaskContext

        if gc.get_freeze_count() == 0:
            gc.freeze()  # a worker of Spark collects garbage after every task: not among what was imported
        names = ["part", "tile", "bytes"]
        part = TaskContext.get().partitionId()

        def numbers(*values):
            return pyarrow.py_buffer(b"".join(value.to_bytes(4, "little", signed=True) for value in values))

        def batch(tile, piece):  # of the bytes as they are: pyarrow.array would copy them, and import pandas
            array = pyarrow.Array.from_buffers
            short = [array(pyarrow.int32(), 1, [None, numbers(value)]) for value in (part, tile)]
            content = array(pyarrow.binary(), 1, [None, numbers(0, len(piece)), pyarrow.py_buffer(piece)])
            return pyarrow.RecordBatch.from_arrays([*short, content], names=names)

        try:
            tile = 0
            while refusal is None and (piece := process.stdout.read(4 << 20)):
                yield batch(tile, piece)
                tile += 1
            code = process.wait() if refusal is None else 0
            if code < 0:
                raise RuntimeError(f"bochner was ended by signal {-code}")
            if code > 0:
                words.seek(0)
                refusal = words.read().strip().removeprefix(b"bochner: ")
            if refusal is not None:
                yield batch(-1, refusal)
        finally:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
            # Before every task Spark has each cached importer read the directory of its zip file again, pyspark.zip 16 times.
            for path, importer in list(sys.path_importer_cache.items()):
                if isinstance(importer, zipimport.zipimporter):
                    del sys.path_importer_cache[path]

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
            settings["spark.driver.defaultJavaOptions"] = JAVA_OPTIONS
            if reader == "workers":  # else the executors decode Parquet, which is worth more optimization
                settings["spark.executor.defaultJavaOptions"] = JAVA_OPTIONS
        settings.update(setting.split("=", 1) for setting in conf)
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()
        self.spark.conf.set("spark.sql.caseSensitive", "true")
        self.spark.conf.set("spark.sql.adaptive.enabled", "false")  # there is nothing to adapt
        self.spark.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(TILES_AT_ONCE * TILE))
        if reader == "workers":  # no message has rows of the table in it
            self.spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(TILES_AT_ONCE))

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
        groups = [self.files[group :: self.partitions] for group in range(self.partitions)]
        numbers = self.spark.range(0, self.partitions, 1, self.partitions)  # one in each partition
        return numbers.mapInArrow(pieces_of_files(self.program, kind, self.root, groups, task), SCHEMA)

    def run(self, kind, columns, task, size):
        """The statistics, of `size` bytes or with a sample beside them, of all or of several parts of the files one after the
        other; or a refusal."""
        pieces = self.mapped(kind, columns, task)
        most = len(self.files) if self.reader == "spark" else self.partitions
        steps = []
        if most * size > COLLECTED_AT_ONCE:
            steps = [int(most**0.5), 1] if most > MERGED_AT_ONCE else [1]
        for count in steps:
            pieces = pieces.repartition(count, pieces.part % count).sortWithinPartitions("part", "tile")
            pieces = pieces.mapInArrow(merged_pieces(self.program), SCHEMA)
        table = pieces.toArrow()
        parts, tiles = (table.column(name).to_pylist() for name in ("part", "tile"))
        content = [piece.as_buffer() for piece in table.column("bytes")]
        rows = sorted(zip(parts, tiles, range(len(content))))
        refusals = [content[place] for _, tile, place in rows if tile < 0]
        if refusals:
            return None, refusals[0].to_pybytes().decode(errors="replace")
        return [content[place] for _, _, place in rows], None

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
                while not finished.wait(LOOKS):
                    done = session.progress()
                    if done is not None:
                        answer(progress=done)

            reporter = threading.Thread(target=report, daemon=True)
            reporter.start()
            try:
                statistics, refusal = session.run(asked["kind"], asked["columns"], task, asked["bytes"])
            finally:
                finished.set()
                reporter.join()
            if refusal is not None:
                answer(refused=refusal)
                continue
            with open(asked["output"], "wb") as file:
                file.writelines(statistics)
            answer(done=sum(map(len, statistics)))
        except Refused as refusal:
            answer(refused=str(refusal))
        except Exception as error:
            answer(failed=last_words(error))


if __name__ == "__main__":
    main()
