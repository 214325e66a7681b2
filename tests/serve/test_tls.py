"""TLS with a certificate that the test makes: it works, and what is wrong is reported before the start."""

import shutil
import ssl
import subprocess

import httpx
import pytest

from miserly.client import Client
from miserly.errors import ClientError, UnreachableError
from tests.cli.running import run
from tests.runtime.plans import PATIENT, heart
from tests.serve.processes import running

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


def openssl(*arguments, cwd):
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a plan, a certificate with its key, the key encrypted, and another key."""
    folder = tmp_path_factory.mktemp("tls")
    heart().save(folder / "heart.miser")
    openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out",
        "cert.pem", cwd=folder,
    )  # fmt: skip
    openssl("ec", "-aes256", "-passout", "pass:sesame", "-in", "key.pem", "-out", "locked.pem", cwd=folder)
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "other.pem", cwd=folder)
    return folder


def test_the_service_speaks_tls_with_an_encrypted_key(files):
    options = ("--tls-cert", files / "cert.pem", "--tls-key", files / "locked.pem")
    with running(files / "heart.miser", *options, env={"MISERLY_TLS_PASSWORD": "sesame"}) as service:
        assert service.url.startswith("https://127.0.0.1:")
        trust = ssl.create_default_context(cafile=str(files / "cert.pem"))
        with service.client(verify=trust) as client:
            response = client.post("/v1/models/heart/predict", json={"features": PATIENT})
            assert response.json()["answer"] == "ill"
        with Client(service.url, verify=files / "cert.pem") as client:
            assert client.predict(PATIENT).answer == "ill"
        with (
            Client(service.url) as client,
            pytest.raises(UnreachableError, match="CERTIFICATE_VERIFY_FAILED"),
        ):
            client.predict(PATIENT)
        with pytest.raises(ClientError, match="No such file"):
            Client(service.url, verify=files / "none.pem")
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(f"{service.url}/healthz")
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.load_verify_locations(files / "cert.pem")
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2
        assert httpx.get(f"{service.url}/healthz", verify=old).status_code == 200
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(f"http{service.url.removeprefix('https')}/healthz")
    assert "sesame" not in service.output


@pytest.mark.parametrize(
    ("cert", "key", "password", "words"),
    [
        ("cert.pem", "locked.pem", None, "this private key is encrypted; give its password in the variable"),
        ("cert.pem", "locked.pem", "wrong", "the password in MISERLY_TLS_PASSWORD does not open"),
        ("cert.pem", "other.pem", None, "this private key does not belong to the certificate"),
        ("absent.pem", "key.pem", None, "cannot read the TLS certificate: No such file or directory"),
        ("cert.pem", "cert.pem", None, "this is no private key in PEM form"),
        ("key.pem", "key.pem", None, "this is no certificate in PEM form"),
        ("heart.miser", "key.pem", None, "this is no certificate in PEM form"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_reported_before_the_start(
    files, monkeypatch, cert, key, password, words
):
    if password is not None:
        monkeypatch.setenv("MISERLY_TLS_PASSWORD", password)
    result = run("serve", files / "heart.miser", "--tls-cert", files / cert, "--tls-key", files / key)
    assert result.exit_code == 1 and words in " ".join(result.stderr.split()), result.stderr
    assert "Traceback" not in result.stderr and "sesame" not in result.stderr
