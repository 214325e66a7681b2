"""Learn to sort mail, and sort some: ``python -m examples.email_triage [--mails 3000] [--measure]``."""

from __future__ import annotations

import argparse

from examples.email_triage.extractors import SOURCES, Letter
from examples.email_triage.mails import make_mails
from examples.email_triage.triage import PRICES, learn, measure_costs

from miserly.runtime import OnDemand


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mails", type=int, default=3000, help="mails to learn from")
    parser.add_argument(
        "--measure", action="store_true", help=f"time the extractors, and write {PRICES.name}"
    )
    options = parser.parse_args()
    mails = make_mails(options.mails, seed=0)
    if options.measure:
        measure_costs(mails[:500]).write(PRICES)
    model = learn(mails)
    model.plan_.save("triage.miser")
    served = OnDemand("triage.miser", SOURCES)
    for mail in make_mails(5, seed=1):
        print(served.predict(Letter(mail.raw)), end="\n\n")


if __name__ == "__main__":
    main()
