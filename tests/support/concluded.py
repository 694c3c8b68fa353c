"""What reports read of a run, without one: participants of 24 samples whom nothing helped."""

from securefair.records import ParticipantResult, RunResult


def concluded(algorithm, names, encryption=None):
    people = [
        ParticipantResult(
            name=name,
            samples=24,
            train_samples=16,
            test_samples=8,
            majority_accuracy=0.5,
            standalone_accuracy=0.5,
            accuracy=0.5,
            gain=0.0,
            accuracy_spread=0.0,
            gain_spread=0.0,
        )
        for name in names
    ]
    return RunResult(
        format=1,
        name="concluded",
        seeds=[0],
        algorithm=algorithm,
        participants=people,
        algorithms={},
        encryption=encryption,
    )
