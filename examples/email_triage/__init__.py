"""E-mail triage: sort mail by what is cheap to look at, and render attachments only where that is needed."""

from examples.email_triage.extractors import SOURCES, Letter
from examples.email_triage.mails import CLASSES, Mail, make_mails
from examples.email_triage.triage import learn, measure_costs, used

__all__ = ["CLASSES", "SOURCES", "Letter", "Mail", "learn", "make_mails", "measure_costs", "used"]
