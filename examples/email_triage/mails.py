"""Made-up e-mails of four classes, as bytes: headers, bodies with quoted replies, attachments.

What gives the class of a mail away is in its header for most, in its words or in patterns such as account
numbers for some, and only in its attachment for the rest. A few labels are wrong, as they are where people
sort mail.
"""

from __future__ import annotations

from base64 import encodebytes
from typing import NamedTuple

import numpy as np
from examples.email_triage import pictures, vocabulary

__all__ = ["CLASSES", "Mail", "make_mails"]

CLASSES = ("invoice", "personal", "spam", "support")
WRONG_LABELS = 0.025
# Where the class shows: in the header, the words, a pattern of characters, the attachment.
PLACES, SHARES = ("header", "words", "pattern", "attachment"), (0.66, 0.14, 0.09, 0.11)
MOTIF = {"invoice": "letterhead", "personal": "photo", "spam": "banner", "support": "screen"}
_WORDS = np.array(vocabulary.WORDS)
ATTACHED = {"invoice": 0.8, "personal": 0.35, "spam": 0.5, "support": 0.5}


class Mail(NamedTuple):
    """The bytes of a mail, and what it was sorted as."""

    raw: bytes
    label: str


def make_mails(n: int, seed: int) -> list[Mail]:
    """Make `n` mails; the same ones for the same seed."""
    return [_make_mail(np.random.default_rng([seed, i])) for i in range(n)]


def _make_mail(rng: np.random.Generator) -> Mail:
    kind = CLASSES[rng.choice(4, p=(0.22, 0.24, 0.3, 0.24))]
    place = PLACES[rng.choice(4, p=SHARES)]
    body = _body(rng, kind, place)
    parts = [_text_part("plain", body), _text_part("html", _html(rng, body))]
    boundary = f"=_{rng.integers(1 << 60):015x}"
    attachments = _attachments(rng, kind, place)
    raw = _header(rng, kind, place, bool(attachments), boundary)
    if attachments:
        inner = f"{boundary}_a"
        alternative = f'Content-Type: multipart/alternative; boundary="{inner}"\r\n\r\n' + _joined(
            parts, inner
        )
        raw += _joined([alternative, *attachments], boundary)
    else:
        raw += _joined(parts, boundary)
    wrong = rng.random() < WRONG_LABELS
    label = CLASSES[(CLASSES.index(kind) + int(rng.integers(1, 4))) % 4] if wrong else kind
    return Mail(raw.encode("utf-8"), label)


def _joined(parts: list[str], boundary: str) -> str:
    return "".join(f"--{boundary}\r\n{part}\r\n" for part in parts) + f"--{boundary}--\r\n"


# -- the header ----------------------------------------------------------------------------------------------


def _header(rng: np.random.Generator, kind: str, place: str, attached: bool, boundary: str) -> str:
    shown = place == "header"
    sender, subject = _sender(rng, kind if shown else ""), _subject(rng, kind if shown else "")
    bulk = kind == "spam" and shown
    spf = "pass" if rng.random() < (0.35 if bulk else 0.93) else rng.choice(["fail", "softfail", "none"])
    hops = 2 + int(rng.poisson(2.5 if bulk else 1.0))
    lines = [
        f"Received: from mx{rng.integers(1, 99)}.example.net (192.0.2.{rng.integers(1, 250)}) by "
        f"mail.example.com; Tue, {rng.integers(1, 28)} Oct 2026 {rng.integers(0, 24):02d}:"
        f"{rng.integers(0, 60):02d}:11 +0000"
        for _ in range(hops)
    ]
    lines += [
        f"Authentication-Results: mail.example.com; spf={spf} smtp.mailfrom={sender}; dkim={spf}",
        f"From: {_name(rng)} <{sender}>",
        f"To: {'undisclosed-recipients:;' if bulk and rng.random() < 0.6 else 'office@example.com'}",
        f"Subject: {subject}",
        f"Date: Tue, {rng.integers(1, 28)} Oct 2026 {_hour(rng, kind, shown):02d}:"
        f"{rng.integers(0, 60):02d}:00 +0000",
        f"Message-ID: <{rng.integers(1 << 60):015x}@{sender.split('@')[1]}>",
        f"X-Mailer: {rng.choice(vocabulary.BULK_MAILERS if bulk else vocabulary.MAILERS)}",
        "MIME-Version: 1.0",
    ]
    if rng.random() < (0.7 if bulk else 0.06):
        lines.append(f"List-Unsubscribe: <https://{sender.split('@')[1]}/out?u={rng.integers(1 << 40)}>")
    if shown and kind in ("support", "personal") and rng.random() < 0.6:
        lines.append(f"In-Reply-To: <{rng.integers(1 << 60):015x}@mail.example.com>")
    lines.append(f'Content-Type: multipart/{"mixed" if attached else "alternative"}; boundary="{boundary}"')
    return "\r\n".join(lines) + "\r\n\r\n"


def _sender(rng: np.random.Generator, kind: str) -> str:
    """An address: one of the address book if `kind` is given and it is not spam."""
    user = f"{rng.choice(vocabulary.NAMES).lower()}{rng.integers(1, 90)}"
    if kind == "spam":
        return f"{user}@{rng.choice(_WORDS)}-{rng.choice(_WORDS)}{rng.integers(10, 999)}.example"
    if not kind or rng.random() < 0.08:
        return f"{user}@{rng.choice(vocabulary.FREE_HOSTS)}"
    return f"{user}@{rng.choice(vocabulary.ADDRESS_BOOK[kind])}"


def _subject(rng: np.random.Generator, kind: str) -> str:
    if not kind or rng.random() < 0.25:
        return str(rng.choice(vocabulary.NEUTRAL_SUBJECTS))
    return str(rng.choice(vocabulary.SUBJECTS[kind])).replace("#", str(rng.integers(10_000, 99_999)))


def _hour(rng: np.random.Generator, kind: str, shown: bool) -> int:
    if not shown or kind == "spam":
        return int(rng.integers(0, 24))
    return int(np.clip(rng.normal(20 if kind == "personal" else 12, 3), 0, 23))


def _name(rng: np.random.Generator) -> str:
    return f"{rng.choice(vocabulary.NAMES)} {rng.choice(vocabulary.NAMES)}"


# -- the body ------------------------------------------------------------------------------------------------


def _body(rng: np.random.Generator, kind: str, place: str) -> str:
    """The text: a message, and below it what it replies to."""
    words = kind if place == "words" or (place == "header" and rng.random() < 0.85) else ""
    message = _paragraphs(rng, words, int(rng.integers(2, 7)))
    if place == "pattern" or (place == "header" and rng.random() < 0.6):
        message.insert(1, _pattern(rng, kind))
    if place == "attachment":
        message = [str(rng.choice(vocabulary.SEE_ATTACHED)), *message[:1]]
    text = "\n\n".join([f"Hello {rng.choice(vocabulary.NAMES)},", *message, f"Regards\n{_name(rng)}"])
    for _ in range(rng.choice(5, p=(0.35, 0.3, 0.2, 0.1, 0.05))):
        older = "\n".join(_paragraphs(rng, "", int(rng.integers(2, 6))))
        quoted = "\n".join("> " + line for line in older.splitlines())
        text += f"\n\nOn {rng.integers(1, 28)} Oct 2026, {_name(rng)} wrote:\n{quoted}"
    return text


def _paragraphs(rng: np.random.Generator, kind: str, n: int) -> list[str]:
    paragraphs = []
    for _ in range(n):
        sentences = [
            " ".join(rng.choice(_WORDS, rng.integers(6, 16))).capitalize() + "."
            for _ in range(rng.integers(2, 6))
        ]
        if kind:
            for phrase in rng.choice(vocabulary.PHRASES[kind], rng.integers(1, 4), replace=False):
                sentences.insert(int(rng.integers(len(sentences))), str(phrase))
        paragraphs.append(" ".join(sentences))
    return paragraphs


def _pattern(rng: np.random.Generator, kind: str) -> str:
    number = int(rng.integers(10_000, 99_999))
    if kind == "invoice":
        account = f"DE{rng.integers(10, 99)} 3704 0044 0532 {number:06d} 00"
        return f"No. INV-{number}: {number / 100:,.2f} EUR, {account}"
    if kind == "support":
        place = f'File "app/module_{number % 97}.py", line {number % 900}, in run'
        return f"{place}\nValueError: code 0x{number:08x}"
    if kind == "spam":
        return f"http://198.51.100.{number % 250}/go?id={number:x} http://bit.example/{number:x} {number}$$$"
    return f"{number % 12 + 1} pm, call me: +49 30 {number} :-) or 0171 {number * 7}"


def _html(rng: np.random.Generator, text: str) -> str:
    style = "".join(
        f"p.c{i} {{ margin: {rng.integers(0, 9)}px; color: #{rng.integers(1 << 24):06x}; "
        "font-family: Arial }\n"
        for i in range(rng.integers(4, 24))
    )
    paragraphs = "\n".join(
        f'<p class="c{i}" style="font-size: 1{i % 5}px"><span>{line.replace(">", "&gt;")}</span></p>'
        for i, line in enumerate(text.splitlines())
        if line
    )
    return f"<html><head><style>{style}</style></head><body>\n{paragraphs}\n</body></html>"


def _text_part(kind: str, text: str) -> str:
    encoded = encodebytes(text.encode("utf-8")).decode("ascii").replace("\n", "\r\n")
    return f'Content-Type: text/{kind}; charset="utf-8"\r\nContent-Transfer-Encoding: base64\r\n\r\n{encoded}'


# -- attachments ---------------------------------------------------------------------------------------------


def _attachments(rng: np.random.Generator, kind: str, place: str) -> list[str]:
    parts = []
    if place == "attachment" or rng.random() < ATTACHED[kind]:
        motif, design = MOTIF[kind], int(rng.integers(pictures.N_DESIGNS))
        if rng.random() < 0.55:
            parts.append(_part("image/png", "scan", "png", pictures.png(pictures.motif(motif, design, rng))))
        else:
            lines = [" ".join(rng.choice(_WORDS, 6)) for _ in range(rng.integers(3, 12))]
            shapes = pictures.rectangles(
                motif, design if motif != "photo" else int(rng.integers(1 << 30)), rng
            )
            parts.append(_part("application/pdf", "document", "pdf", pictures.page(shapes, lines)))
    if rng.random() < 0.15:
        rows = rng.integers(0, 9_999, (rng.integers(5, 60), 4)) / 100
        table = "item,amount,tax,total\n" + "\n".join(",".join(map(str, row)) for row in rows.tolist())
        parts.append(_part("text/csv", "table", "csv", table.encode()))
    return parts


def _part(kind: str, name: str, ending: str, data: bytes) -> str:
    encoded = encodebytes(data).decode("ascii").replace("\n", "\r\n")
    return (
        f'Content-Type: {kind}; name="{name}.{ending}"\r\nContent-Transfer-Encoding: base64\r\n'
        f'Content-Disposition: attachment; filename="{name}.{ending}"\r\n\r\n{encoded}'
    )
