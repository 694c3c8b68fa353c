"""An association vouches for cards; nothing else counts as its word."""

import pytest

from securefair.errors import ConfigError, DataError
from securefair.sites.project.identity import Identity
from securefair.sites.project.voucher import is_vouched, unvouched, voucher_file, write_voucher

NOW = 1_800_000_000
ASSOCIATION, NORTH, SOUTH = (
    Identity.generate(name, now=NOW) for name in ("association", "north", "south")
)


def vouched(folder, card, by=ASSOCIATION, now=NOW):
    return is_vouched(folder, card, by.card, now)


def test_it_holds_for_that_card_and_says_of_whom_there_is_none(tmp_path):
    write_voucher(tmp_path, NORTH.card, ASSOCIATION, NOW)
    assert vouched(tmp_path, NORTH.card)
    assert not vouched(tmp_path, SOUTH.card)
    cards = (NORTH.card, SOUTH.card, ASSOCIATION.card)
    assert unvouched(tmp_path, cards, ASSOCIATION.card, NOW) == ("south",)


def test_another_card_of_that_name_is_not_vouched_for(tmp_path):
    """As somebody would lay into a shared folder who wants to pass for a hospital."""
    write_voucher(tmp_path, NORTH.card, ASSOCIATION, NOW)
    with pytest.raises(DataError, match="has not vouched for this card"):
        vouched(tmp_path, Identity.generate("north", now=NOW).card)


def test_a_voucher_by_another_association_of_that_name_counts_for_nothing(tmp_path):
    write_voucher(tmp_path, NORTH.card, Identity.generate("association", now=NOW), NOW)
    with pytest.raises(DataError, match="has not vouched"):
        vouched(tmp_path, NORTH.card)


def test_a_voucher_for_one_hospital_does_not_serve_another(tmp_path):
    file = write_voucher(tmp_path, NORTH.card, ASSOCIATION, NOW)
    file.rename(voucher_file(tmp_path, SOUTH.card, ASSOCIATION.card))
    with pytest.raises(DataError, match="has not vouched"):
        vouched(tmp_path, SOUTH.card)


def test_it_ends_with_the_card_of_who_vouches(tmp_path):
    write_voucher(tmp_path, NORTH.card, ASSOCIATION, NOW)
    with pytest.raises(DataError, match="has expired"):
        vouched(tmp_path, NORTH.card, now=ASSOCIATION.card.valid_until)


def test_nobody_vouches_for_itself(tmp_path):
    with pytest.raises(ConfigError, match="itself"):
        write_voucher(tmp_path, NORTH.card, NORTH, NOW)


@pytest.mark.parametrize("content", [b"", b"\xff", b"signature = 1", b"x = ", b"a" * 5000])
def test_what_is_no_voucher_is_refused_in_a_line(tmp_path, content):
    voucher_file(tmp_path, NORTH.card, ASSOCIATION.card).write_bytes(content)
    with pytest.raises(DataError) as refused:
        vouched(tmp_path, NORTH.card)
    assert "\n" not in refused.value.problem


def test_a_link_in_a_folder_of_all_is_not_followed(tmp_path):
    file = write_voucher(tmp_path, NORTH.card, ASSOCIATION, NOW)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="cannot be read"):
        vouched(tmp_path, NORTH.card)
