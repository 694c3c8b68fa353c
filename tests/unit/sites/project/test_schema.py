from securefair.data import ColumnProposal, Proposal
from securefair.sites.project.schema import differences

AGE = ColumnProposal(name="age", low=30, high=70)
SEX = ColumnProposal(name="sex", low=0, high=1, levels=("0", "1"))
PAIN = ColumnProposal(name="pain", levels=("atypical", "none", "typical"))


def proposal(*columns, label="num", levels=("0", "1"), classes=()):
    num = ColumnProposal(name=label, levels=levels)
    return Proposal(label=label, classes=classes, columns=(*columns, num))


def found(north, south):
    return "\n".join(map(str, differences({"north": north, "south": south})))


def test_equal_proposals_do_not_differ():
    same = proposal(AGE, SEX, PAIN, ColumnProposal(name="id", unused="looks like an identifier"))
    assert differences({"north": same, "south": same}) == []


def test_every_difference_is_listed_with_a_remedy():
    other = proposal(
        ColumnProposal(name="sex", low=0, high=2, levels=("0", "2")),
        ColumnProposal(name="pain", low=0, high=3),
        ColumnProposal(name="weight", low=0, high=200),
        levels=("0", "1", "2"),
    )
    listed = differences({"north": proposal(AGE, SEX, PAIN), "south": other})
    assert {one.column for one in listed} == {"num", "age", "sex", "pain", "weight"}
    assert all(one.remedy for one in listed)
    text = "\n".join(map(str, listed))
    assert "classes of north: 0 | 1; of south: 0 | 1 | 2" in text
    assert "age: not in the table of south" in text
    assert "weight: not in the table of north" in text
    assert "sex: 0, 1 at north; 0, 2 at south. Agree on 0 to 2" in text
    assert 'numbers at south, but "atypical" and other texts at north' in text


def test_ranges_and_rare_levels_are_compared():
    wide = ColumnProposal(name="age", low=0, high=700)
    fewer = ColumnProposal(name="pain", levels=("none", "typical"), rare=2)
    text = found(proposal(AGE, PAIN), proposal(wide, fewer))
    assert "30 to 70 at north; 0 to 700 at south. Agree on 0 to 700" in text
    assert "atypical, none, typical at north; none, typical and 2 rare at south" in text


def test_a_column_that_may_be_missing_at_some_sites_only_is_a_difference():
    may = ColumnProposal(name="age", low=30, high=70, optional=True)
    text = found(proposal(AGE, SEX), proposal(may, SEX))
    assert text == "age: may be missing, but never is at north. Say optional = true everywhere"


def test_another_label_and_other_classes_are_differences():
    assert "south predicts dead" in found(proposal(AGE), proposal(AGE, label="dead"))
    agreed = proposal(AGE, classes=(("0",), ("1", "2")))
    assert "--class" in found(proposal(AGE), agreed)


def test_a_level_beside_rare_ones_does_not_stand_always():
    some = ColumnProposal(name="pain", levels=("NC",), rare=163)
    assert "NC and 163 rare at south" in found(proposal(AGE, PAIN), proposal(AGE, some))
    assert "always" not in found(proposal(AGE, PAIN), proposal(AGE, some))
