"""Small made-up tables, the same in every run."""

import csv
import io

import numpy as np

INPUTS = ["x", "y", "colour", "new"]


class Table:
    """Named columns of cells; None is a missing one."""

    def __init__(self, names, rows):
        self.names = names
        self.rows = rows

    def to_csv(self):
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(self.names)
        writer.writerows(["" if cell is None else cell for cell in row] for row in self.rows)
        return text.getvalue().encode()


def inputs(count, seed, missing=0.05):
    """Rows of two numbers, a text and a truth value; some cells are missing, and y is far from zero."""
    random = np.random.default_rng(seed)
    x, y = random.normal(size=count), 1e6 + 20 * random.normal(size=count)
    colour = random.choice(["blue", "green", "red"], size=count)
    new = random.random(size=count) < 0.5
    rows = [[float(a), float(b), str(c), bool(d)] for a, b, c, d in zip(x, y, colour, new)]
    for row, column in zip(*np.nonzero(random.random((count, len(INPUTS))) < missing)):
        rows[row][column] = None
    return rows


def signal(row):
    """A smooth function of a row."""
    x, y, colour, new = row
    x, y = x or 0.0, ((y or 1e6) - 1e6) / 20
    return float(np.sin(2 * x) + 0.5 * y * (colour == "red") + 0.3 * bool(new))


def with_targets(names, targets, count=400, missing=0.05):
    """A table whose last columns are `targets` of each row."""
    rows = inputs(count, seed=1, missing=missing)
    return Table(INPUTS + names, [row + targets(row) for row in rows])


def regression():
    return with_targets(["price"], lambda row: [signal(row)])


def complete():
    return with_targets(["price"], lambda row: [signal(row)], missing=0.0)


def numbers(count=400):
    """Three numbers and a smooth function of them: one matrix, for clients that know nothing else."""
    cells = np.random.default_rng(3).normal(size=(count, 3))
    return Table(["a", "b", "c", "y"], [row + [float(np.sin(row[0]) + row[1] * row[2])] for row in cells.tolist()])


def two_targets():
    return with_targets(["price", "size"], lambda row: [signal(row), 100 * signal(row) ** 2])


def binary():
    return with_targets(["kind"], lambda row: ["cheap" if signal(row) < 0.4 else "dear"])


def three_classes():
    return with_targets(["kind"], lambda row: [["low", "middle", "high, or so"][int(np.digitize(signal(row), [-0.2, 0.6]))]])


def one_input(count=400):
    """One number in [2, 5] and a periodic function of it: for the spline kernel."""
    x = np.random.default_rng(2).uniform(2, 5, size=count)
    return Table(["x", "y"], [[float(a), float(np.cos(2 * np.pi * (a - 2) / 3) + 0.2 * a)] for a in x])
