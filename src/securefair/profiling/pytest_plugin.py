"""A fixture for other people's tests: what does this head cost under encryption?

    def test_my_head_is_affordable(fhe_cost):
        cost = fhe_cost(my_head, samples=4096, release="projection")
        fhe_cost.assert_below(bytes=50e6, seconds=10)

pytest loads this module in every run of everybody who has securefair installed, so it imports
nothing but pytest; torch and SEAL load when the fixture is used. Where pytest-benchmark is active
the teacher's work becomes a benchmark of the test, with all figures as its extra_info.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any

import pytest

from securefair.config import defaults

if TYPE_CHECKING:
    from torch import nn

    from securefair.model.heads import Head
    from securefair.profiling.exchange_cost import ExchangeCost

BENCHMARK_PLUGIN = "benchmark"


class FheCost:
    """Plans, runs and measures an encrypted exchange with a head; the `fhe_cost` fixture.

    Args:
        benchmark: pytest-benchmark's fixture, or None without it.
    """

    def __init__(self, benchmark: Any = None) -> None:
        self._benchmark = benchmark
        self.last: ExchangeCost | None = None

    def __call__(
        self,
        head: Head | nn.Module,
        *,
        samples: int,
        release: str | None = None,
        backend: str = defaults.BACKEND,
        repeats: int = 3,
        **spec: Any,
    ) -> ExchangeCost:
        """Run one exchange of that many synthetic samples, and measure it.

        Args:
            head: a trained head, torch module or network of `he_network`, or a fresh one of the
                same size.
            samples: the student's.
            release: what leaves the encryption: "loss", "class_sums", "projection", "logits". None:
                "projection" where q is given, which means nothing for the others, else "logits".
            backend: "rns", "seal" or "clear".
            repeats: times are medians of so many answers.
            spec: other fields of `securefair.ExchangeSpec`, such as q, precision or bounds.

        Raises:
            PlanError: no parameters grant this.
            ModelError: encryption evaluates no such module, or the head's weights exceed the bounds
                of the spec.
        """
        from msgspec.structs import asdict

        from securefair.profiling.exchange_cost import PreparedExchange, measurable, spec_for

        head = measurable(head)
        if release is None:
            release = "projection" if "q" in spec else "logits"
        prepared = PreparedExchange(spec_for(head, samples, release, **spec), head, backend=backend)
        self.last = cost = prepared.cost(repeats=repeats)
        # A test has one benchmark: the first exchange that it runs.
        if self._benchmark is not None and not self._benchmark.extra_info:
            self._benchmark.extra_info.update(asdict(cost), bytes=cost.bytes)
            self._benchmark.pedantic(prepared.serve, rounds=repeats, warmup_rounds=0)
        return cost

    def assert_below(
        self,
        *,
        bytes: float | None = None,
        seconds: float | None = None,
        error: float | None = None,
        peak_bytes: float | None = None,
    ) -> None:
        """Fail the test if the last exchange exceeded a budget.

        Args:
            bytes: bytes of keys, features, query and answer together.
            seconds: seconds of the teacher, from upload to answer; depends on the machine.
            error: error of a released number.
            peak_bytes: bytes of memory, both sides together.

        Raises:
            ConfigError: nothing was measured yet, or there is no budget, or one that is no number.
        """
        from securefair.errors import ConfigError

        if self.last is None:
            raise ConfigError("measure first: call fhe_cost(head, samples=...)")
        budgets = {"bytes": bytes, "seconds": seconds, "error": error, "peak_bytes": peak_bytes}
        if all(budget is None for budget in budgets.values()):
            raise ConfigError(
                "there is no budget to exceed",
                where="assert_below",
                expected=f"a number for one of {', '.join(budgets)}",
            )
        for name, budget in budgets.items():
            if budget is not None and not isinstance(budget, Real):
                raise ConfigError(
                    "a budget is a number", where=name, found=budget, expected="such as 5e6"
                )
        over = [
            f"{name}: {getattr(self.last, name):g} is not below {budget:g}"
            for name, budget in budgets.items()
            if budget is not None and not getattr(self.last, name) < budget
        ]
        if over:
            pytest.fail("the exchange is over budget: " + "; ".join(over), pytrace=False)


class _Alone:
    """The fixture without pytest-benchmark."""

    @pytest.fixture
    def fhe_cost(self) -> FheCost:
        """Measure what a head costs under encryption (securefair)."""
        return FheCost()


class _WithBenchmark:
    """The fixture that also fills the test's benchmark."""

    @pytest.fixture
    def fhe_cost(self, benchmark: Callable[..., object]) -> FheCost:
        """Measure what a head costs under encryption, as this test's benchmark (securefair)."""
        return FheCost(benchmark)


def pytest_configure(config: pytest.Config) -> None:
    """Register the fixture that fits: pytest-benchmark may be missing or switched off."""
    present = config.pluginmanager.hasplugin(BENCHMARK_PLUGIN)
    plugin = _WithBenchmark() if present else _Alone()
    config.pluginmanager.register(plugin, "securefair-fhe-cost")
