"""Folders that only Spark can read: which Parquet files are in them, and what these say about themselves. Nothing but the DataFrame
API is used, so that classic sessions and Spark Connect do the same.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

# Files whose footers are read at the same time.
FOOTERS_AT_ONCE = 8

# What the line of a Python error begins with that a person can use.
TELLING = ["RuntimeError", "FileNotFoundError", "PermissionError", "ModuleNotFoundError", "MemoryError"]


class Refused(Exception):
    """The files cannot be read as a table; not a failure of the cluster."""


def literal(path):
    """A path that Hadoop reads as it is written, and not as a pattern."""
    return re.sub(r"([\\{}\[\]*?,^$])", r"\\\1", path)


def path_in(uri):
    """The path of a URI, without scheme and authority."""
    return uri.split("://", 1)[-1].partition("/")[2]


def last_words(error):
    """What a failure says that a person can use: the line that a Python worker ended with, the cause of an aborted job, or the
    first line that says something."""
    lines = [line.strip().removeprefix(": ") for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("An error occurred while calling")]
    told = [line for line in lines if line.split(":")[0] in TELLING]
    if not told and lines and "Job aborted" in lines[0]:
        told = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")][-1:]
    return (told or lines or [type(error).__name__])[0][:1000]


def reading(what, read):
    """What a function reads of files. That they cannot be read is a refusal; that the session is lost is none."""
    try:
        return read()
    except Exception as error:
        lost = isinstance(error, (OSError, EOFError)) or type(error).__name__ == "Py4JNetworkError"
        if lost or "UNAVAILABLE" in str(error):
            raise
        raise Refused(f"{what}: {last_words(error)}") from error


def paths_in(spark, location):
    """Name → path and size of the Parquet files in a folder. Spark leaves out names that begin with _ or a point."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    rows = reading(location, lambda: reader.load(location).select("path", "length").collect())
    files, within = {}, path_in(location)
    for path, size in rows:
        folder, _, name = path_in(path).rpartition("/")
        if path_in(path) == within:
            raise Refused(f"{location}: is a file; name the folder that it is in")
        if folder != within:
            below = folder[len(within) :].strip("/").split("/")[0]
            raise Refused(f"{location}: '{below}' is a folder; only files that are directly in the folder are read")
        if name.endswith(".parquet"):
            files[name] = (path, size)
    return files


def files_at(spark, location):
    """The Parquet files of a folder: name, path, bytes, rows, and the names and types of the columns."""
    files = paths_in(spark, location)
    if not files:
        return []

    def columns(name):
        path, _ = files[name]
        schema = reading(f"{location}: file '{name}'", lambda: spark.read.parquet(literal(path)).schema)
        return [(field.name, field.dataType.simpleString()) for field in schema]

    with ThreadPoolExecutor(FOOTERS_AT_ONCE) as pool:
        stated = list(pool.map(columns, files))
    paths = [literal(path) for path, _ in files.values()]
    # Without a column of the files, their footers are enough to count rows. A file without rows is not among them.
    counted = reading(location, lambda: spark.read.parquet(*paths).groupBy("_metadata.file_path").count().collect())
    rows = {unquote(path).rsplit("/", 1)[-1]: count for path, count in counted}
    return [
        {"name": name, "path": path, "bytes": size, "rows": rows.get(name, 0), "columns": columns}
        for (name, (path, size)), columns in zip(files.items(), stated)
    ]
