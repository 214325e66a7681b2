"""The e-mail triage example: its mails, its extractors, and its plan on demand."""

import io
from email import message_from_bytes

import numpy as np
import pytest
from examples.email_triage import (
    CLASSES,
    SOURCES,
    Letter,
    extractors,
    learn,
    make_mails,
    measure_costs,
    pictures,
    used,
)
from examples.email_triage.triage import PRICES, extract, table

from miserly import Costs
from miserly.runtime import OnDemand


@pytest.fixture(scope="module")
def model():
    return learn(make_mails(300, seed=0))


def test_mails_are_the_same_for_the_same_seed():
    assert make_mails(8, seed=3) == make_mails(20, seed=3)[:8] != make_mails(8, seed=4)


def test_mails_are_mails():
    for mail in make_mails(30, seed=0):
        message = message_from_bytes(mail.raw)
        kinds = [part.get_content_type() for part in message.walk() if not part.is_multipart()]
        assert kinds[:2] == ["text/plain", "text/html"]
        assert not any(part.defects for part in message.walk())
        assert mail.label in CLASSES
        for field in ("From", "Subject", "Date", "Message-ID"):
            assert Letter(mail.raw).header[field.lower()] == [message[field]]


@pytest.mark.parametrize("kind", pictures.MOTIFS)
def test_pictures_are_read_as_other_readers_do(kind):
    image = pytest.importorskip("PIL.Image")
    drawn = pictures.motif(kind, 0, np.random.default_rng(0))
    data = pictures.png(drawn)
    np.testing.assert_array_equal(extractors.read_png(data), drawn)
    with image.open(io.BytesIO(data)) as opened:
        np.testing.assert_array_equal(np.asarray(opened), drawn)


def test_a_copy_is_nearest_to_its_own_design():
    rng = np.random.default_rng(0)
    prints = {
        (kind, design): extractors.fingerprint(pictures.motif(kind, design).mean(axis=2))
        for kind in ("letterhead", "screen", "banner")
        for design in range(pictures.N_DESIGNS)
    }
    own = [
        min(prints, key=lambda other: (prints[other] != extractors.fingerprint(copy)).sum()) == name
        for name in prints
        for copy in (pictures.motif(*name, rng).mean(axis=2), extractors.render_page(
            pictures.page(pictures.rectangles(*name, rng), ["one line"])
        ))
    ]  # fmt: skip
    assert np.mean(own) > 0.9


def test_the_price_file_has_the_features_of_the_extractors():
    costs, letter = Costs.read(PRICES), Letter(make_mails(1, seed=0)[0].raw)
    found = {name: tuple(source(letter)) for name, source in SOURCES.items()}
    assert {
        name: tuple(map(costs.name, costs.members(g))) for g, name in enumerate(costs.group_names)
    } == found
    assert costs.names == tuple(extract(letter))
    assert costs.unit == "ms" and costs.setup[0] < min(costs.setup[1:]) / 3


def test_measured_prices_are_those_of_groups():
    costs = measure_costs(make_mails(30, seed=2))
    assert costs.group_names == tuple(SOURCES) and costs.names == Costs.read(PRICES).names
    assert (costs.feature == 0).all() and (costs.setup > 0).all()
    assert costs.setup[0] < costs.setup[3]


def test_on_demand_gives_the_answers_and_prices_of_the_batch(model):
    mails = make_mails(60, seed=1)
    X, labels = table(mails)
    run = model.run(X)
    served = OnDemand(model, SOURCES)
    receipts = [served.predict(Letter(mail.raw)) for mail in mails]
    assert [receipt.answer for receipt in receipts] == model.predict(X).tolist()
    np.testing.assert_allclose([receipt.cost for receipt in receipts], run.cost)
    assert all(receipt.stopped_by == "answered" for receipt in receipts)
    assert np.mean(model.predict(X) == labels) > 0.85


def test_the_header_is_enough_for_most_mails_and_not_for_all(model):
    served = OnDemand(model, SOURCES)
    called = [used(served.predict(Letter(mail.raw))) for mail in make_mails(60, seed=1)]
    assert 0.5 < np.mean([some == ["header"] for some in called]) < 0.9
    assert any("render" in some for some in called)
