"""`securefair run` with algorithm cycle-gossip: what the configuration becomes, and the records."""

import pytest

from securefair.averaging.shares import KEY_BYTES
from securefair.collaboration import PublicFacts
from securefair.collaboration.gossip.kind import CYCLE_GOSSIP
from securefair.collaboration.resolved import ResolvedRun
from securefair.config import override, parse_config
from securefair.errors import ConfigError, PlanError, SecureFairError
from securefair.profiling.forecast import check_config
from securefair.report.facts import sender_disclosures
from securefair.run.folder import read_run, write_outcome
from securefair.user.participants import load_participants
from securefair.words import words_of
from support.experiments import run_experiment


def checked_of(config, **options):
    return check_config(ResolvedRun.of(config), **options)


pytestmark = pytest.mark.slow  # whole runs

CONFIG = """
[run]
name = "averages"
algorithms = ["standalone", "cycle-gossip"]
[data]
source = "heart"
[model]
kind = "linear"
[training]
rounds = 3
local_epochs = 2
local_steps = 2
[fairness]
alpha = 0.25
forced_every = 2
[gossip]
topology = "ring"
weighting = "metropolis"
beta = 4.0
relative = false
sketch = 16
bound = 8.0
precision = 0.0001
[encryption]
backend = "clear"
flooding_bits = 31
"""


def configured(**changes):
    return override(parse_config(CONFIG, source="test"), changes, source="test")


class Silent:
    def start(self, *_, **__):
        return self

    def advance(self, _): ...

    def finish(self): ...


@pytest.fixture(scope="module")
def outcome():
    changes = {"gossip.relative": True, "encryption.backend": "rns", "gossip.sketch": 0}
    return run_experiment(configured(**changes), Silent())


class TestAgreement:
    def agreed(self, **changes):
        config = configured(**changes)
        return CYCLE_GOSSIP.agree(config, PublicFacts.of(load_participants(config, 0)), seed=3)

    def test_every_setting_comes_from_the_configuration(self):
        agreed = self.agreed()
        assert agreed.participants == ("Cleveland", "Hungary", "Switzerland", "VA Long Beach")
        assert (agreed.facts.shape, agreed.classes, agreed.network) == ((32,), 2, "linear-head")
        config = configured()
        for name in ("gossip", "fairness", "model", "training", "encryption"):
            assert getattr(agreed, name) == getattr(config, name)
        assert agreed.seed == 3
        assert self.agreed(**{"gossip.max_share": "3/5"}).gossip.max_share == 0.6

    def test_the_network_is_that_of_the_model_unless_one_is_named(self):
        quadratic = {"model.kind": "quadratic", "model.hidden": 5}
        assert self.agreed(**quadratic).network == "quadratic-head-5"
        assert self.agreed(**{"gossip.network": "mlp-32"}).network == "mlp-32"
        assert self.agreed(**{"gossip.sketch": 0}).alignment.spec.sketch is None

    def test_edges_stand_for_a_topology(self):
        edges = [["Cleveland", "Hungary"], ["Hungary", "Switzerland"]]
        assert self.agreed(**{"gossip.edges": edges}).gossip.edges == tuple(map(tuple, edges))


class TestRun:
    def test_controls_train_the_same_network(self, outcome):
        result = outcome.result
        assert result.algorithm == "cycle-gossip"
        assert list(result.algorithms) == [*result.controls, "cycle-gossip"]
        assert result.controls[:2] == ["standalone", "early_stopping"]
        assert len(outcome.rounds) == len(result.controls) + 3

    def test_private_sums_are_concluded_with_their_errors(self, outcome):
        encryption = outcome.result.encryption
        averaging = encryption.averaging
        assert (encryption.backend, encryption.release) == ("rns", "alignment")
        assert (averaging.averaging, averaging.parameters) == ("masked", 66)
        assert averaging.hides_parameters
        assert 0 < encryption.max_abs_error <= averaging.average_error_bound <= 0.0001 * 8
        assert encryption.error_over_range == pytest.approx(encryption.max_abs_error / 8, rel=0.01)

    def test_the_ledger_agrees_with_the_rounds(self, outcome):
        rounds = [record for record in outcome.rounds if record.algorithm == "cycle-gossip"]
        for n, one in enumerate(sorted(one.name for one in outcome.result.participants)):
            (totals,) = [
                row
                for row in sender_disclosures(outcome.ledger, "cycle-gossip")
                if row.sender == one
            ]
            assert totals.sums == sum(row[n] for record in rounds for row in record.answered)
            assert totals.cosines == 2 * 2  # both neighbours, rounds 0 and 2

    def test_bytes_lie_between_what_a_check_foretells(self, outcome):
        changes = {"gossip.relative": True, "gossip.sketch": 0}
        checked = checked_of(configured(**changes))
        (algorithm,) = checked.algorithms
        assert algorithm.name == "cycle-gossip"
        sent = sum(row.bytes for row in outcome.traffic)
        # A message's own frame and the decisions to share are not foretold.
        frames = 64 * sum(row.count for row in outcome.traffic)
        assert algorithm.least_bytes <= sent <= algorithm.most_bytes + frames
        assert algorithm.least_answers <= outcome.result.encryption.answers
        assert outcome.result.encryption.answers <= algorithm.most_answers
        sums = checked.sums
        assert (sums.edges, sums.parameters, sums.network) == (4, 66, "linear-head")
        assert sums.share_bytes == 66 * 4
        assert sums.request_bytes + KEY_BYTES == 40

    def test_files_are_written_read_back_and_shown(self, outcome, tmp_path):
        write_outcome(outcome, tmp_path)
        stored = read_run(tmp_path)
        assert stored.result == outcome.result
        assert stored.ledger == outcome.ledger
        page = (tmp_path / "report.html").read_text("utf-8")
        assert "solve for single models" in page
        assert "Teacher" not in page

    @pytest.mark.parametrize(
        ("changes", "backend", "said", "unsaid"),
        [
            (
                {"gossip.averaging": "clear", "encryption.backend": "rns"},
                "rns",
                ("in the open", "Gradients were compared under encryption", "encrypted gradients"),
                ("these parameters would have", "Gradients were compared in the open"),
            ),
            ({}, "clear", ("without encryption", "these parameters would have"), ()),
        ],
        ids=["clear sums", "clear alignment"],
    )
    def test_what_is_not_private_is_never_called_so(self, changes, backend, said, unsaid, tmp_path):
        config = configured(**{"training.rounds": 1} | changes)
        found = run_experiment(config, Silent())
        assert found.result.encryption.backend == backend
        write_outcome(found, tmp_path)
        page = (tmp_path / "report.html").read_text("utf-8")
        assert '<div class="alert" role="note">' in page
        assert words_of()("tiles.strength") not in page
        assert not [text for text in said if text not in page]
        assert not [text for text in unsaid if text in page]

    def test_a_check_warns_of_what_is_not_private_and_of_who_never_averages(self):
        edges = [["Cleveland", "Hungary"], ["Cleveland", "Switzerland"]]
        found = checked_of(configured(**{"gossip.averaging": "clear", "gossip.edges": edges}))
        said = " ".join(found.warnings)
        assert "hides no model" in said
        assert "Hungary, Switzerland, VA Long Beach will never average" in said

    def test_a_check_warns_where_nobody_sees_how_uneven_a_sum_is(self):
        said = {
            kind: " ".join(checked_of(configured(**{"gossip.averaging": kind})).warnings)
            for kind in ("ckks", "masked")
        }
        assert "read models out of one sum" in said["ckks"]
        assert "read models" not in said["masked"]


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "error", "words"),
        [
            ({"gossip.averaging": "hidden"}, ConfigError, "averaging"),
            ({"gossip.topology": "star"}, ConfigError, "topology"),
            ({"gossip.edges": [["Cleveland", "Rome"]]}, ConfigError, "edge"),
            ({"gossip.edges": [["Cleveland"]]}, ConfigError, "edges"),
            ({"gossip.min_senders": 1}, ConfigError, "min_senders"),
            ({"gossip.min_senders": 3}, ConfigError, "enough neighbours"),
            ({"gossip.max_share": 0.4}, ConfigError, "max_share"),
            ({"gossip.max_share": 1.0}, ConfigError, "max_share"),
            ({"gossip.averaging": "ckks", "gossip.max_share": 0.6}, PlanError, "max_share"),
            ({"gossip.averaging": "crypten", "gossip.max_share": 0.6}, PlanError, "max_share"),
            ({"gossip.bound": 0.0}, ConfigError, "bound"),
            ({"gossip.precision": 0.9}, ConfigError, "precision"),
            ({"gossip.sketch": 1000}, ConfigError, "sketch"),
            ({"gossip.network": "transformer"}, ConfigError, "no such network"),
            (
                {"gossip.network": "mlp-32", "run.algorithms": ["standalone", "cycle"]},
                ConfigError,
                "gossip.network",
            ),
            ({"gossip.averaging": "ckks", "gossip.precision": 2.0**-46}, PlanError, "precision"),
        ],
        ids=lambda value: str(value) if isinstance(value, dict) else "",
    )
    def test_what_cannot_be_is_named_before_anything_runs(self, changes, error, words):
        with pytest.raises(error, match=words):
            run_experiment(configured(**changes), Silent())

    def test_parameters_beyond_the_planned_range_stop_a_run(self):
        with pytest.raises(SecureFairError, match="exceeds the planned range") as error:
            run_experiment(configured(**{"gossip.bound": 0.01}), Silent())
        assert "round 0" in str(error.value)


def test_everyone_keeps_the_network_that_was_averaged(outcome):
    last = [record for record in outcome.rounds if record.algorithm == "cycle-gossip"][-1]
    kept = [one.card.model.scores["accuracy"] for one in outcome.models]
    assert kept == pytest.approx(last.accuracy)
    assert [one.card.controls["standalone"].scores["accuracy"] for one in outcome.models] == (
        pytest.approx([r for r in outcome.rounds if r.algorithm == "standalone"][-1].accuracy)
    )
