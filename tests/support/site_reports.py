"""Made-up but plausible facts of one site, so that its report has something to show."""

from dataclasses import replace

from securefair.collaboration.verdict import verdict_of
from securefair.collaboration.wording import SiteWording
from securefair.prediction import ModelCard, ModelEvaluation
from securefair.prediction.card import Taught
from securefair.records import MetricResult, RoundRecord
from securefair.report.presence import PeerLife
from securefair.report.site import OWN, SiteFacts, SitePeer, SiteRound
from securefair.worth.interval import wilson
from securefair.worth.verdict import Against

PEERS = ("south", "west", "hill")
ROUNDS = 7


def evaluation(right, tested=40):
    wrong = tested - right
    scores = {"accuracy": right / tested, "auc": 0.8, "log_loss": 0.5, "brier": 0.2}
    return ModelEvaluation(
        hospital="north",
        patients=tested,
        classes=["healthy", "ill"],
        scores=scores | {"sensitivity": None, "specificity": 0.9, "calibration_error": 0.1},
        accuracy_se=0.07,
        intervals={"accuracy": wilson(right / tested, tested)},
        confusion=[[right - 10, wrong], [0, 10]],
    )


def card(peers=PEERS):
    return ModelCard(
        hospital="north",
        run="heart",
        algorithm="cycle",
        backend="rns",
        seed=1,
        seeds=1,
        label="num",
        features=5,
        train_by_class={"healthy": 90, "ill": 30},
        model=evaluation(32),
        controls={"most_common": evaluation(25), "standalone": evaluation(30)},
        verdict=verdict_of(
            MetricResult(
                mean=0.05,
                se=0.05,
                by_hospital={"north": 0.05},
                se_by_hospital={"north": 0.05},
            ),
            "log_loss",
            algorithm="cycle",
            control="standalone",
            against=Against(),
        ),
        titles={"most_common": "One answer for all", "standalone": "Alone"},
        taught=[
            Taught(peer=peer, answers_received=1, numbers_received=16, numbers_disclosed=32)
            for peer in peers
        ],
        origin=None,
        limits=["It is a result of research."],
        versions={"securefair": "0.1.0"},
    )


def site_peer(name, **changes):
    known = SitePeer(
        name=name,
        answered=6,
        missed=1,
        presence=PeerLife.HERE,
        weight=0.75,
        received=96,
        told=112,
        bytes_in=1_250_000,
        bytes_out=2_500_000,
        fault="",
    )
    return replace(known, **changes)


EVERYONE = tuple(map(site_peer, PEERS))


def site_facts(*, peers=EVERYONE, **changes):
    names = [peer.name for peer in peers]
    last = [[0.9 - 0.1 * at for at in range(len(names))]]
    first = [[None] * len(names)]
    everyone, nobody = [[True] * len(names)], [[False] * len(names)]
    known = SiteFacts(
        name="north",
        project="heart",
        title="CYCle",
        rule="answers depend on reputation",
        weighs=True,
        averages=False,
        agreed="64 numbers an answer",
        said=SiteWording(),
        role="",
        asks=True,
        learns=True,
        planned=ROUNDS + 1,
        peers=peers,
        rounds=tuple(
            SiteRound(
                number=number,
                answers=tuple(names) if number % 3 else (),
                measured={"accuracy": 0.5 + 0.04 * number, "cross_entropy": 0.6},
                note=f"{names[-1]} away" if number == 4 else "",
            )
            for number in range(ROUNDS)
        ),
        seen=tuple(
            RoundRecord(
                algorithm=OWN,
                round=number,
                forced=number % 3 == 1,
                accuracy=[0.5 + 0.04 * number],
                cross_entropy=[0.6],
                reputation=last if number else first,
                alignment=first,
                distillation_loss=first,
                asked=everyone,
                answered=everyone if number % 3 else nobody,
            )
            for number in range(ROUNDS)
        ),
        sums=(),
        shared="",
        student_limit=128,
        teacher_limit=512,
        promised=None,
        gaps=(),
        refused={},
        audit_rows=57,
        audit_head="ab" * 32,
        recovered=False,
        card=card(names),
    )
    return replace(known, **changes)
