"""Projects of rehearsals: of every kind, for any number of hospitals that a rehearsal takes."""

import pytest

from securefair.collaboration.kinds import REGISTERED
from securefair.sites.project.agreeing import check_agreement
from securefair.sites.rehearsal.rehearsal import MAX_SITES, hospitals, project_between


@pytest.mark.parametrize("sites", [3, 5, 8, MAX_SITES])
@pytest.mark.parametrize("algorithm", REGISTERED)
def test_hospitals_that_are_divided_found_a_project_of_every_kind(algorithm, sites):
    """From the fifth on they are small: q once exceeded their patients."""
    data = hospitals(sites)
    assert len({own.name for own in data}) == sites
    assert min(len(own.train) for own in data) > 1
    project, _ = project_between(data, algorithm, 2, "clear")
    agreement = check_agreement(project)
    assert set(agreement.participants) == {own.name for own in data}
