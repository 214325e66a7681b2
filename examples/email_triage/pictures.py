"""Pictures and pages for attachments: drawn with NumPy, encoded as PNG files or pages of a small PDF."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOTIFS", "N_DESIGNS", "motif", "page", "png", "rectangles"]

# What a picture can show. Each motif has several designs, such as the letterheads of different suppliers.
MOTIFS = ("letterhead", "screen", "banner", "photo")
N_DESIGNS = 8
HEIGHT, WIDTH = 240, 176

Rectangles = list[tuple[int, int, int, int, int]]  # left, top, width, height, shade


def rectangles(kind: str, design: int, rng: np.random.Generator | None = None) -> Rectangles:
    """The layout of a motif. `rng` adds what differs between two copies of one design, such as the text."""
    plan = np.random.default_rng([MOTIFS.index(kind), design])
    if kind == "letterhead":
        shapes = [(int(plan.integers(8, 90)), 10, int(plan.integers(30, 70)), int(plan.integers(14, 34)), 40)]
        shapes += [
            (12, 70 + 14 * i, 150, 10, int(plan.integers(120, 230))) for i in range(plan.integers(4, 9))
        ]
        shapes.append((int(plan.integers(90, 120)), 205, 46, 16, 60))
    elif kind == "screen":
        shapes = [(0, 0, WIDTH, 18, 50), (0, 18, int(plan.integers(30, 60)), HEIGHT - 18, 180)]
        shapes += [_anywhere(plan, 64, 30, 100, 200, (24, 60), (70, 220)) for _ in range(5)]
    elif kind == "banner":
        shapes = [(0, 0, WIDTH, HEIGHT, int(plan.integers(30, 110)))]
        shapes += [_anywhere(plan, 0, 0, 120, 190, (40, 110), (190, 255)) for _ in range(4)]
    else:
        shapes = [_anywhere(plan, 0, 0, 140, 200, (20, 120), (10, 250)) for _ in range(9)]
    if rng is not None:  # lines of text
        tops = rng.integers(4, HEIGHT - 6, 24)
        shapes += [(int(rng.integers(4, 120)), int(top), int(rng.integers(6, 40)), 2, 90) for top in tops]
    return shapes


def _anywhere(
    plan: np.random.Generator, left: int, top: int, right: int, bottom: int,
    sizes: tuple[int, int], shades: tuple[int, int],
) -> tuple[int, int, int, int, int]:  # fmt: skip
    return (
        int(plan.integers(left, right)), int(plan.integers(top, bottom)), int(plan.integers(*sizes)),
        int(plan.integers(*sizes)), int(plan.integers(*shades)),
    )  # fmt: skip


def draw(shapes: Rectangles) -> NDArray[np.uint8]:
    """A grey picture of some rectangles on white paper, later ones on top."""
    paper = np.full((HEIGHT, WIDTH), 255, dtype=np.uint8)
    for left, top, width, height, shade in shapes:
        paper[top : top + height, left : left + width] = shade
    return paper


def motif(kind: str, design: int, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
    """A colour picture (height, width, 3) of a motif; with `rng` one copy of it: text, light, noise."""
    if kind == "photo" and rng is not None:  # no two photos are alike
        design = int(rng.integers(1 << 30))
    grey = draw(rectangles(kind, design, rng)).astype(np.float64)
    if kind == "photo":
        rows, columns = np.linspace(0, 1, HEIGHT)[:, None], np.linspace(0, 1, WIDTH)[None]
        grey = 0.4 * grey + 150 * (rows * columns)
    tint = np.random.default_rng([MOTIFS.index(kind), design, 1]).uniform(0.8, 1.0, 3)
    colours = grey[:, :, None] * tint
    if rng is not None:
        colours = colours * rng.uniform(0.85, 1.0) + rng.integers(-6, 7, colours.shape)
    return np.clip(colours, 0, 255).astype(np.uint8)


def png(picture: NDArray[np.uint8]) -> bytes:
    """A PNG file; every line is stored as its difference to the one above, as encoders do."""
    height, width, _ = picture.shape
    lines = picture.reshape(height, -1)
    filtered = np.empty((height, 1 + lines.shape[1]), dtype=np.uint8)
    filtered[:, 0] = 2
    filtered[0, 1:] = lines[0]
    filtered[1:, 1:] = lines[1:] - lines[:-1]
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes(), 1)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def page(shapes: Rectangles, lines: list[str]) -> bytes:
    """A PDF-like file of one page: rectangles and lines of text in a compressed stream."""
    drawn = "\n".join(f"{s / 255:.3f} g {x} {y} {w} {h} re f" for x, y, w, h, s in shapes)
    written = "\n".join(f"BT 12 {20 + 10 * i} Td ({line}) Tj ET" for i, line in enumerate(lines))
    stream = zlib.compress(f"{drawn}\n{written}\n".encode("latin-1", "replace"))
    return (
        b"%%PDF-1.4\n1 0 obj << /Type /Page /MediaBox [0 0 %d %d] /Contents 2 0 R >> endobj\n"
        % (WIDTH, HEIGHT)
        + b"2 0 obj << /Length %d /Filter /FlateDecode >>\nstream\n" % len(stream)
        + stream + b"\nendstream endobj\ntrailer << /Root 1 0 R >>\n%%EOF\n"
    )  # fmt: skip
