"""What scripts may rely on in metrics.json, of `securefair demo` and `securefair run` alike."""

CONTROLS = {"standalone", "early_stopping", "averaged_alone", "alone-forest", "alone-ensemble",
            "most_common"}  # fmt: skip
SCORES = {"accuracy", "balanced_accuracy", "auc", "sensitivity", "specificity", "log_loss", "brier"}
ENCRYPTION = {"max_abs_error", "error_bound", "numbers_disclosed", "bits_disclosed", "answers",
              "bytes_up", "bytes_down"}  # fmt: skip


def assert_contract(metrics, hospitals, *, learnt):
    """Every algorithm and control has every score, and the encryption every figure.

    Args:
        metrics: the file, decoded.
        hospitals: names, in order.
        learnt: names of the algorithms in which hospitals learn from each other.
    """
    assert metrics["algorithms"].keys() == {*CONTROLS, *learnt}
    for one in metrics["algorithms"].values():
        assert one["metrics"].keys() >= SCORES
        for score in one["metrics"].values():
            assert score.keys() >= {"mean", "se", "by_hospital"}
            assert list(score["by_hospital"]) == hospitals
    assert metrics["encryption"].keys() >= ENCRYPTION
    assert None not in (metrics["encryption"][name] for name in ENCRYPTION)
