"""Every output of a run says the same verdict first."""

from msgspec import structs

from securefair.collaboration.verdict import headline
from securefair.records import MetricResult
from securefair.report.html import render_report
from securefair.words import words_of
from support.verdicts import with_verdicts


def gained(result, value=0.05, error=0.01):
    names = [one.name for one in result.participants]
    return MetricResult(
        mean=value,
        se=error,
        by_hospital=dict.fromkeys(names, value),
        se_by_hospital=dict.fromkeys(names, error),
    )


def test_a_run_says_its_verdict_first(run):
    result = run.result
    figure = result.algorithms[result.algorithm]
    old = structs.replace(figure, gain_over_best_control={"log_loss": gained(result)})
    before = structs.replace(result, algorithms=result.algorithms | {result.algorithm: old})
    assert headline(before, words_of()).startswith("Who is better off cannot be told")
    after = with_verdicts(before)
    assert after.algorithms["standalone"].verdict is None
    verdict = after.algorithms[result.algorithm].verdict
    assert headline(after, words_of()) == verdict.sentence


def test_alone_is_called_alone(make_run):
    run = make_run(algorithms=("standalone",), backend=None)
    assert headline(run.result, words_of()).startswith("Nobody learned")


def test_the_page_says_it_first_and_nothing_by_accuracy_before(run):
    result = run.result
    figure = result.algorithms[result.algorithm]
    old = structs.replace(figure, gain_over_best_control={"log_loss": gained(result)})
    told = with_verdicts(
        structs.replace(result, algorithms=result.algorithms | {result.algorithm: old})
    )
    page = render_report(
        result=told,
        rounds=run.rounds,
        exchanges=run.exchanges,
        ledger=run.ledger,
        traffic=run.traffic,
        config=run.config,
        versions=run.versions,
    )
    sentence = told.algorithms[told.algorithm].verdict.sentence
    assert sentence in page.split("<main")[0]
    assert page.count(sentence) == 1
    assert "gained accuracy" not in page
