import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import msgspec
import pytest

from securefair.collaboration.wording import SiteWording
from securefair.report.presence import PeerLife
from securefair.report.site import site_markdown, site_page
from support.site_reports import site_facts, site_peer


class Words(HTMLParser):
    """The text of a page, and every address that it names."""

    def __init__(self, page):
        super().__init__()
        self.found, self.addresses, self.inside = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        if tag in ("style", "script"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if tag in ("style", "script"):
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.found.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.found))


def text_of(**changes):
    return Words(site_page(site_facts(**changes))).text


def test_it_says_what_the_own_model_is_worth_against_training_alone():
    text = text_of()
    assert "Too small or uncertain to tell at north: with CYCle, log-loss is lower by 0.050" in text
    assert (
        "than with Alone, the best model alone. That is measured on 40 own test patients." in text
    )
    for word in ("Alone", "One answer for all", "Own model", "undefined", "taken for ill"):
        assert word in text


def test_it_says_what_passed_in_both_directions():
    page = site_page(site_facts())
    [row] = re.findall(r'<tr><th scope="row">south</th>.*?</tr>', page)[:1]
    cells = [unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
    assert cells == ["6", "1", "here", "96", "112", "0.75", "1.25\xa0MB", "2.5\xa0MB"]
    text = Words(page).text
    assert "All sites agreed on this: 64 numbers an answer." in text
    assert "One peer may be told at most 128, all together at most 512." in text
    assert "Numbers of its model that it let out 336 of 512 allowed" in text
    assert "Data sent 7.5 MB" in text.replace("\xa0", " ")


def test_reputations_are_those_of_this_site_only():
    page = site_page(site_facts())
    assert len(re.findall(r"<td data-student=", page)) == 3
    assert 'data-student="1"' not in page
    assert "north thinks most of south (0.90) and least of hill (0.70)." in page
    assert "What peers think of this site is not known here." in page


def test_a_kind_without_reputations_shows_no_map():
    page = site_page(site_facts(weighs=False, peers=(site_peer("south", weight=None),)))
    assert "reputation-map" not in page
    assert ">Weight<" not in page


def test_averages_speak_of_models_and_weights():
    text = text_of(averages=True)
    assert "Rounds with its model" in text
    assert "north gives south most weight (0.90), and itself \u22121.40." in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"presence": PeerLife.UNHEARD}, "Never heard of at the end: south."),
        ({"presence": PeerLife.AWAY}, "Away at the end: south."),
        ({"fault": "blocked by this site's operator"}, "south: blocked by this site's operator."),
    ],
)
def test_what_is_amiss_with_a_peer_stands_first(changes, said):
    assert said in text_of(peers=(site_peer("south", **changes), site_peer("west")))


def test_where_nothing_is_learned_there_is_no_verdict_and_no_gain_of_the_kind():
    for text in (text_of(learns=False), site_markdown(site_facts(learns=False))):
        assert "This site learned from nobody: this is a model that it can have alone." in text
        assert "the best model alone" not in text
    assert text_of(learns=False).count("CYCle") == 1  # what the project is, and no bar of a chart


def test_what_passed_is_called_as_the_kind_says_and_sums_are_counted_once():
    said = SiteWording(peers="Lenders", numbers="Cosines", told="Lent", tells="Little.")
    facts = site_facts(said=said, shared="It was a part.", sums=((14, 2), (3, 1), (14, 2)))
    text, markdown = Words(site_page(facts)).text, site_markdown(facts)
    for tile in ("Lenders 3 of 3", "Lent 336 of 512 allowed", "Cosines that it got 31 in 3 sums"):
        assert tile in text
    sums = "This site opened 2 sums of 14 numbers over 2 peers and 1 sum of 3 numbers over 1 peer."
    for told in (text, markdown):
        assert f"Little. It was a part. {sums}" in told
    assert "| cosines from it | cosines to it" in markdown
    assert "sums" not in text_of()


def test_a_model_that_nobody_taught_is_called_one():
    rounds = site_facts().rounds[:1]
    assert rounds[0].answers == ()
    said = "Nothing came from any peer: the model is of this site's patients alone."
    assert said in text_of(rounds=rounds)
    assert said not in text_of(rounds=rounds, asks=False, learns=False)
    assert said in text_of(rounds=rounds, role="This site only learns: it answered nobody. ")
    looks = text_of(rounds=rounds, learns=False)
    assert "Nothing came from any peer." in looks
    assert said not in looks
    assert said not in text_of()


def test_promises_and_their_gaps_are_stated():
    assert "No mathematical guarantee (differential privacy) covers them" in text_of()
    text = text_of(promised="At most 7.4 times as likely.", gaps=("Rows are patients.",))
    assert "At most 7.4 times as likely. Rows are patients." in text


def test_what_was_refused_is_counted():
    assert "Nothing was refused." in text_of()
    assert "forged, south: 1,200" in text_of(refused={"forged, south": 1200})


def test_every_name_is_escaped_and_nothing_comes_from_elsewhere():
    hostile = "<script>document.title='broken'</script>"
    page = site_page(site_facts(name=hostile, project=hostile, peers=(site_peer(hostile),)))
    assert page.count("<script") == 2  # the slider's numbers and our own script
    assert "&lt;script&gt;" in page
    assert Words(page).addresses == ["#main"]
    assert "default-src 'none'" in page


def test_a_recovered_site_says_that_its_figures_lack_something_and_what_it_skipped_is_over():
    whole = site_facts(recovered=True)
    skipped = site_facts(recovered=True, rounds=(whole.rounds[0], whole.rounds[-1]))
    for text in (site_markdown(skipped), Words(site_page(skipped)).text):
        assert "This site was recovered: nobody knows what it let out before" in text
        assert "7 of 8" in text
    assert "recovered" not in text_of()


def test_what_is_counted_from_a_recovery_on_says_so():
    """Bytes of before are forgotten, and stood there as if they were all."""
    text = " ".join(text_of(recovered=True).split())
    assert text.count("MB since the recovery") == 2
    assert "Data from it, since the recovery Data to it, since the recovery" in text


def test_markdown_says_the_same_in_a_terminal():
    text = site_markdown(site_facts(refused={"forged, south": 2}, promised="Little.", gaps=("G.",)))
    assert "7 of 8 rounds are over." in text
    assert "| south | 6 | 1 | here | 96 | 112 | 0.75 |" in text
    assert "| 5 | south, west, hill | 0.660 | 0.600 | hill away |" in text
    for line in ("- forged, south: 2", "Little.", "- G.", f"Audit log: 57 rows, head {'ab' * 32}"):
        assert line in text.split("\n")


def test_shares_are_of_rows_where_patients_have_several():
    facts = site_facts()
    rows = sum(map(sum, facts.card.model.confusion))
    visits = msgspec.structs.replace(facts.card.model, patients=rows // 4)
    page = site_page(replace(facts, card=msgspec.structs.replace(facts.card, model=visits)))
    assert f"{rows} for testing" in Words(page).text
    shares = [float(one) for one in re.findall(r'class="common" x1="([\d.]+)%"', page)]
    assert shares
    assert max(shares) <= 100


def test_two_weights_and_two_losses_are_told_apart():
    """A peer's weight of 0.08 stood beside a "weight of peers" of 0.870, and nothing said why."""
    whole = site_facts()
    measured = {"accuracy": 0.3, "cross_entropy": -0.4, "weight of peers": 0.87}
    model = msgspec.structs.replace(
        whole.card.model, outcome="number", classes=[], confusion=[], scores={"r2": 0.3}
    )
    card = msgspec.structs.replace(whole.card, model=model)
    rounds = tuple(replace(one, measured=measured) for one in whole.rounds)
    facts = site_facts(rounds=rounds, card=card)
    for text in (site_markdown(facts), Words(site_page(facts)).text):
        assert "weight of peers" not in text.casefold()
        assert "settings with peers" in text.casefold()
        assert "The weight of a peer is how far the model follows its answers" in text
        assert "The loss in training is of the training patients" in text
    assert "how far the model follows" not in text_of()
