"""TLS: checks of the certificate and its private key before the service starts."""

from __future__ import annotations

import ssl
from pathlib import Path

from miserly.errors import ServeError

__all__ = ["check_tls"]


def check_tls(certificate: str, key: str, password: str | None = None) -> None:
    """Raise `ServeError` unless a certificate and its private key can be used.

    Parameters
    ----------
    certificate, key : str
        PEM files.
    password : str, optional
        The password of the key, if it is encrypted.
    """
    for path, what in ((certificate, "certificate"), (key, "private key")):
        _check_file(path, what)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    asked = False

    def give() -> str:
        nonlocal asked
        asked = True
        return password or ""

    try:
        context.load_cert_chain(certificate, key, give)
    except ssl.SSLError as error:
        raise ServeError(_reason(certificate, key, error, asked, password)) from None
    except (OSError, ValueError) as error:
        raise ServeError(f"{certificate}, {key}: cannot be used for TLS: {error}") from None


def _check_file(path: str, what: str) -> None:
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise ServeError(f"{path}: cannot read the TLS {what}: {error.strerror}") from None
    label = b"CERTIFICATE" if what == "certificate" else b"PRIVATE KEY"
    if b"-----BEGIN " not in text or label not in text:
        raise ServeError(f"{path}: this is no {what} in PEM form (no line with BEGIN ... {label.decode()})")


def _reason(certificate: str, key: str, error: ssl.SSLError, asked: bool, password: str | None) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"{key}: this private key does not belong to the certificate {certificate}"
    if asked and password is None:
        return f"{key}: this private key is encrypted; give its password in the variable MISERLY_TLS_PASSWORD"
    if asked:
        return f"{key}: the password in MISERLY_TLS_PASSWORD does not open this private key"
    return f"{certificate}, {key}: cannot be used for TLS: {error.reason or error}"
