"""Settings of all tests."""

from hypothesis import HealthCheck, settings

# How long an example takes says nothing: it may compile a function first, or share the machine.
settings.register_profile("miserly", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("miserly")
