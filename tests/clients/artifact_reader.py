"""Reads artifacts of format 2 and predicts with them, by docs/artifact-format.md alone."""

import hashlib
import struct

import numpy as np

HEADER = struct.Struct("<8sIQ32s")
SECTION = struct.Struct("<4sIQ")
REQUIRED = 1
KERNELS = [("gaussian", 1), ("laplace", 1), ("matern", 2), ("cauchy", 1), ("angular", 0), ("spline", None), ("linear", 0)]
MAPS = ["pair", "phase", "sign", "spline", "linear", "points"]


class Content:
    """The content of a section, read from front to back."""

    def __init__(self, content):
        self._content, self._at = content, 0

    def _take(self, length):
        if length > len(self._content) - self._at:
            raise ValueError("a length exceeds what is left of the section")
        self._at += length
        return self._content[self._at - length : self._at]

    def u32(self):
        return int.from_bytes(self._take(4), "little")

    def u64(self):
        return int.from_bytes(self._take(8), "little")

    def f64(self):
        return struct.unpack("<d", self._take(8))[0]

    def text(self):
        return self._take(self.u64()).decode()

    def texts(self):
        return [self.text() for _ in range(self.u64())]

    def numbers(self):
        return np.frombuffer(self._take(8 * self.u64()), "<f8")

    def bools(self):
        return np.frombuffer(self._take(self.u64()), bool)

    def optional(self, read):
        return read() if self._take(1) == b"\1" else None

    def end(self):
        assert self._at == len(self._content), "bytes follow the last field"


def sections(file):
    """The content of each section by its tag, from the bytes of a file."""
    magic, version, length, checksum = HEADER.unpack_from(file)
    payload = file[HEADER.size :]
    if magic != b"BOCHNER\0":
        raise ValueError("not a bochner artifact")
    if version != 2:
        raise ValueError(f"format {version}; this reader reads 2")
    if length != len(payload) or hashlib.sha256(payload).digest() != checksum:
        raise ValueError("the file is damaged")
    found, at = {}, 0
    while at < len(payload):
        tag, flags, length = SECTION.unpack_from(payload, at)
        at += SECTION.size
        if flags & REQUIRED and tag not in (b"HEAD", b"INPT", b"FEAT", b"SCAL", b"WGHT", b"SIGN"):
            raise ValueError(f"section {tag} is required and not known")
        found[tag.decode()] = Content(payload[at : at + length])
        at += length
    return found


class Model:
    """What a prediction needs of an artifact."""

    def __init__(self, file):
        found = sections(file)
        self._read_head(found["HEAD"])
        self._read_inputs(found["INPT"])
        self._read_features(found["FEAT"])
        weights, self.intercepts = found["WGHT"].numbers(), found["WGHT"].numbers()
        self.weights = weights.reshape(-1, len(self.intercepts))
        self.scales = np.ones(1)
        if "SCAL" in found:
            factors, _ = found["SCAL"].numbers(), found["SCAL"].f64()
            self.scales = np.tile(factors, 2 if self.map == "pair" else 1)
        self.signs = [None] * len(self.columns)
        if "SIGN" in found:
            self._read_signs(found["SIGN"])
        for tag in ("HEAD", "INPT", "FEAT", "SCAL", "WGHT", "SIGN"):
            if tag in found:
                found[tag].end()

    def _read_head(self, head):
        self.labels = None
        if head.u32() == 0:
            self.targets = head.texts()
        else:
            self.targets, self.labels = [head.text()], head.texts()
            self.slope, self.log_weights = head.optional(head.f64), head.numbers()

    def _read_inputs(self, inputs):
        self.columns = [(inputs.text(), inputs.u32(), inputs.texts()) for _ in range(inputs.u64())]
        self.fill, self.offset, self.factor = inputs.numbers(), inputs.numbers(), inputs.numbers()
        self.refuses_missing = inputs.u32() == 1

    def _read_signs(self, signs):
        number = lambda: signs.optional(signs.u64)
        column = lambda: ([number() for _ in range(signs.u64())], number())
        self.signs = [signs.optional(column) for _ in range(signs.u64())]

    def _read_features(self, features):
        self.kernel, parameters = KERNELS[features.u32()]
        self.parameters = [features.u32()] if parameters is None else [features.f64() for _ in range(parameters)]
        self.map, self.mixed = MAPS[features.u32()], features.u32() == 0
        if features.u32() == 0:
            draws = features.u64()
            self.frequencies = features.numbers().reshape(draws, -1)
        else:
            self.frequencies = structured(features.u64(), features.numbers(), features.bools())
        self.phases = features.numbers()

    def outputs(self, rows):
        """The numbers Wᵀψ + c for rows of cells; None is a missing cell."""
        features = self._features(np.array([self._inputs(row) for row in rows])) * self.scales
        return features @ self.weights + self.intercepts

    def probabilities(self, rows):
        """The probability of each label; None if the artifact has no slope."""
        if self.slope is None:
            return None
        values = self.outputs(rows)
        if len(self.labels) == 2:
            values = np.hstack([np.zeros_like(values), values])
        scores = self.slope * values - self.log_weights
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def _inputs(self, row):
        inputs = []
        for cell, (_, kind, levels), signs in zip(row, self.columns, self.signs, strict=True):
            if signs is not None:
                own = signs[0][levels.index(cell)] if cell in levels else None
                inputs += [np.nan] * 64 if cell is None else signs_of(own if own is not None else signs[1])
            elif cell is None:
                inputs += [np.nan] * (len(levels) if kind == 2 else 1)
            else:
                inputs += [float(cell == level) for level in levels] if kind == 2 else [float(cell)]
        inputs = np.array(inputs)
        return (np.where(np.isnan(inputs), self.fill, inputs) - self.offset) * self.factor

    def _features(self, inputs):
        if self.map == "points":
            return self._kernel(inputs[:, None, :], self.frequencies[None, :, :])
        angles, draws = inputs @ self.frequencies.T, len(self.frequencies)
        if self.map == "pair":
            return np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(draws)
        if self.map == "phase":
            return np.cos(angles + self.phases) * np.sqrt(2 / draws)
        if self.map == "sign":
            return np.where(angles >= 0, 1.0, -1.0) / np.sqrt(draws)
        if self.map == "linear":
            return angles / np.sqrt(draws)
        raise NotImplementedError(f"the map {self.map}")

    def _kernel(self, left, right):
        if self.kernel == "gaussian":
            return np.exp(-np.sum((left - right) ** 2, axis=2) / (2 * self.parameters[0] ** 2))
        if self.kernel == "laplace":
            return np.exp(-np.sum(np.abs(left - right), axis=2) / self.parameters[0])
        if self.kernel == "cauchy":
            return np.prod(1 / (1 + ((left - right) / self.parameters[0]) ** 2), axis=2)
        raise NotImplementedError(f"the kernel {self.kernel}")


def signs_of(number):
    """The 64 inputs of a level."""
    return [0.0] * 64 if number is None else [0.125 if number >> bit & 1 else -0.125 for bit in range(64)]


def structured(inputs, norms, signs):
    """The frequencies that products of Hadamard matrices and signs stand for."""
    order = 64
    while order < inputs:
        order *= 2
    hadamard = np.ones((1, 1))
    while len(hadamard) < order:
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    blocks = []
    for third, second, first in np.where(signs, -1.0, 1.0).reshape(-1, 3, order):
        blocks.append((hadamard * first) @ (hadamard * second) @ (hadamard * third) / order**1.5)
    return np.vstack(blocks)[: len(norms), :inputs] * norms[:, None]
