"""Extractors: four sources, from a look at the header to rendering attachments, each for a group of features.

Each takes a `Letter` and gives the features of its group, from the bytes of the mail alone. A letter keeps
what was parsed, so that no extractor parses again what another one has parsed for the same mail.
"""

from __future__ import annotations

import csv
import hashlib
import re
import struct
import zlib
from email.message import Message
from email.parser import BytesParser
from functools import cached_property
from html.parser import HTMLParser

import numpy as np
from examples.email_triage import pictures, vocabulary
from numpy.typing import NDArray

__all__ = ["SOURCES", "Letter"]


class Letter:
    """A mail that has arrived: its bytes, and what was parsed of them so far."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    @cached_property
    def header(self) -> dict[str, list[str]]:
        """The values of each header field; nothing after the header is read."""
        found: dict[str, list[str]] = {}
        head = self.raw[: self.raw.index(b"\r\n\r\n")].decode("utf-8", "replace")
        for line in head.replace("\r\n ", " ").replace("\r\n\t", " ").split("\r\n"):
            name, _, value = line.partition(":")
            found.setdefault(name.lower(), []).append(value.strip())
        return found

    @cached_property
    def parts(self) -> list[Message]:
        return [part for part in BytesParser().parsebytes(self.raw).walk() if not part.is_multipart()]

    @cached_property
    def text(self) -> str:
        """What a reader sees: the HTML part as text, or else the plain one."""
        for kind in ("text/html", "text/plain"):
            for part in self.parts:
                if part.get_content_type() == kind:
                    text = part.get_payload(decode=True).decode("utf-8", "replace")
                    return _without_tags(text) if kind == "text/html" else text
        return ""

    @cached_property
    def attachments(self) -> list[tuple[str, bytes]]:
        return [
            (part.get_content_type(), part.get_payload(decode=True))
            for part in self.parts
            if part.get_content_disposition() == "attachment"
        ]


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False
        if tag == "p":
            self.found.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._in_style:
            self.found.append(data)


def _without_tags(page: str) -> str:
    reader = _Text()
    reader.feed(page)
    return "".join(reader.found)


# -- the header ----------------------------------------------------------------------------------------------

_KNOWN = {host: kind for kind, hosts in vocabulary.ADDRESS_BOOK.items() for host in hosts}
_SUBJECT_WORDS = {
    kind: {word for subject in subjects for word in re.findall("[a-z]{3,}", subject.lower())}
    for kind, subjects in vocabulary.SUBJECTS.items()
}


def header(letter: Letter) -> dict[str, float]:
    """Who sent it, how it came, and its subject."""
    found = letter.header
    first = {name: values[0] for name, values in found.items()}
    host = first["from"].rpartition("@")[2].rstrip(">")
    subject = first["subject"]
    words = set(re.findall("[a-z]{3,}", subject.lower()))
    known = _KNOWN.get(host)
    return {
        "known supplier": float(known == "invoice"),
        "known customer": float(known == "support"),
        "known contact": float(known == "personal"),
        "free host": float(host in vocabulary.FREE_HOSTS),
        "spf passed": float("spf=pass" in first["authentication-results"]),
        "hops": float(len(found["received"])),
        "bulk mailer": float(first.get("x-mailer") in vocabulary.BULK_MAILERS),
        "can unsubscribe": float("list-unsubscribe" in found),
        "is reply": float("in-reply-to" in found),
        "hidden recipients": float("@" not in first["to"]),
        "hour": float(first["date"].split(":")[0][-2:]),
        "has attachments": float(first["content-type"].startswith("multipart/mixed")),
        "bytes": float(len(letter.raw)),
        "capitals in subject": sum(map(str.isupper, subject)) / max(1, len(subject)),
        **{f"subject: {kind}": float(len(words & some)) for kind, some in _SUBJECT_WORDS.items()},
    }


# -- the body ------------------------------------------------------------------------------------------------

_COMMON = set(vocabulary.WORDS)
_TELLING = {
    kind: {word for phrase in phrases for word in re.findall("[a-z]{3,}", phrase.lower())} - _COMMON
    for kind, phrases in vocabulary.PHRASES.items()
}


def words(letter: Letter) -> dict[str, float]:
    """Tokenise the text, and count the words that are typical of each class, quoted replies apart."""
    fresh = quoted = 0
    counts = dict.fromkeys(_TELLING, 0)
    for line in letter.text.splitlines():
        tokens = re.findall(r"[^\W\d_]{3,}", line.lower())
        if line.startswith(">"):
            quoted += len(tokens)
            continue
        fresh += len(tokens)
        for token in tokens:
            for kind, telling in _TELLING.items():
                counts[kind] += token in telling
    shares = {f"words: {kind}": 100.0 * count / max(1, fresh) for kind, count in counts.items()}
    return {"tokens": float(fresh), "quoted tokens": float(quoted), **shares}


_PATTERNS = {
    "amounts": re.compile(r"\b\d{1,3}(?:,\d{3})*\.\d\d ?(?:EUR|USD|CHF)\b"),
    "accounts": re.compile(r"\b[A-Z]{2}\d\d(?: ?\d{2,6}){3,}\b"),
    "invoice numbers": re.compile(r"\b(?:INV|RE|BILL)-?\d{4,}\b"),
    "traces": re.compile(r'File "[^"]+", line \d+|\b\w+(?:Error|Exception)\b'),
    "codes": re.compile(r"\b0x[0-9a-f]{4,}\b"),
    "links": re.compile(r"https?://[^\s<>\"]+"),
    "bare links": re.compile(r"https?://\d{1,3}(?:\.\d{1,3}){3}[^\s<>\"]*"),
    "telephones": re.compile(r"(?<!\d)(?:\+\d{1,3}[ -]?|0)\d{2,4}(?:[ -]?\d{2,}){1,4}"),
    "addresses": re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+"),
    "shouting": re.compile(r"\b[A-Z]{4,}\b|[!$]{2,}"),
    "smileys": re.compile(r"[:;]-?[)(DP]"),
}


def patterns(letter: Letter) -> dict[str, float]:
    """Sweep the text with regular expressions."""
    return {name: float(len(pattern.findall(letter.text))) for name, pattern in _PATTERNS.items()}


# -- attachments ---------------------------------------------------------------------------------------------

_SIZE, _KEPT = 32, 8
_COSINES = np.cos(np.pi * np.outer(np.arange(_KEPT), np.arange(_SIZE) + 0.5) / _SIZE)


def read_png(data: bytes) -> NDArray[np.uint8]:
    """The pixels (height, width, 3) of a PNG file whose lines are stored whole or as differences."""
    place, header, stored = 8, b"", []
    while place < len(data):
        length, name = struct.unpack_from(">I4s", data, place)
        chunk = data[place + 8 : place + 8 + length]
        if name == b"IHDR":
            header = chunk
        elif name == b"IDAT":
            stored.append(chunk)
        place += 12 + length
    width, height = struct.unpack_from(">II", header)
    raw = np.frombuffer(zlib.decompress(b"".join(stored)), np.uint8).reshape(height, 1 + 3 * width)
    lines = raw[:, 1:].reshape(height, width, 3).copy()
    for i, filtering in enumerate(raw[:, 0].tolist()):
        if filtering == 1:
            lines[i] = np.cumsum(lines[i], axis=0, dtype=np.uint8)
        elif filtering == 2 and i:
            lines[i] += lines[i - 1]
        elif filtering > 2:
            raise ValueError(f"line {i} has filter {filtering}, which is not read here")
    return lines


_BOX = re.compile(r"([\d.]+) g (\d+) (\d+) (\d+) (\d+) re f")


def render_page(data: bytes) -> NDArray[np.float64]:
    """The rectangles of a page on white paper, in grey."""
    width, height = (int(n) for n in re.search(rb"/MediaBox \[0 0 (\d+) (\d+)\]", data).groups())
    start = data.index(b"stream\n") + len(b"stream\n")
    content = zlib.decompress(data[start : data.index(b"\nendstream", start)]).decode("latin-1")
    paper = np.full((height, width), 255.0)
    for shade, *numbers in _BOX.findall(content):
        left, top, wide, high = map(int, numbers)
        paper[top : top + high, left : left + wide] = 255.0 * float(shade)
    return paper


def fingerprint(grey: NDArray[np.float64]) -> NDArray[np.bool_]:
    """A perceptual hash: the signs of the lowest frequencies of a small copy, against their median."""
    rows = np.linspace(0, grey.shape[0], _SIZE + 1).astype(int)[:-1]
    columns = np.linspace(0, grey.shape[1], _SIZE + 1).astype(int)[:-1]
    small = np.add.reduceat(np.add.reduceat(grey, rows, axis=0), columns, axis=1)
    low = (_COSINES @ small @ _COSINES.T).ravel()[1:]
    return low > np.median(low)


_TEMPLATES = {
    kind: np.array([
        fingerprint(pictures.motif(kind, design).mean(axis=2)) for design in range(pictures.N_DESIGNS)
    ])
    for kind in pictures.MOTIFS if kind != "photo"
}  # fmt: skip


def render(letter: Letter) -> dict[str, float]:
    """Decode and render attachments, hash them, and compare them with the designs that are known."""
    nearest = dict.fromkeys(_TEMPLATES, 63.0)
    colour = edges = cells = 0.0
    digests = set()
    for kind, data in letter.attachments:
        digests.add(hashlib.sha256(data).digest())
        if kind == "text/csv":
            cells += sum(len(row) for row in csv.reader(data.decode("utf-8", "replace").splitlines()))
            continue
        if kind == "image/png":
            pixels = read_png(data)
            colour = max(colour, float(pixels.std(axis=2).mean()))
            grey = pixels.mean(axis=2)
        else:
            grey = render_page(data)
        edges = max(edges, float(np.abs(np.diff(grey, axis=1)).mean()))
        own = fingerprint(grey)
        for name, templates in _TEMPLATES.items():
            nearest[name] = min(nearest[name], float((templates != own).sum(axis=1).min()))
    distances = {f"nearest {name}": distance for name, distance in nearest.items()}
    return {**distances, "colour": colour, "edges": edges, "cells": cells, "files": float(len(digests))}


SOURCES = {"header": header, "words": words, "patterns": patterns, "render": render}
