"""Somebody's data becomes participants, or an error that says where it cannot."""

import re

import numpy as np
import pytest

from securefair.config import load_config, parse_config, to_toml
from securefair.errors import ConfigError, DataError
from securefair.user.data_sets import participant_of
from securefair.user.participants import load_participants
from securefair.user.tables import ReadTables, resolve


def samples_of_all(config, seed):
    """Everybody's samples by the rules of a configuration, inferred or given."""
    read = ReadTables()
    return load_participants(resolve(config, read).config, seed, read)


HEAD = '[run]\nname = "own"\nalgorithms = ["standalone"]\n[data]\nsource = "{}"\n'
TABLE = """
[table]
label = "ill"
classes = [0, 1]
[[table.columns]]
name = "age"
kind = "numeric"
low = 20
high = 90
[[table.columns]]
name = "sex"
kind = "binary"
no = "f"
yes = "m"
"""
PEOPLE = """
[[participants]]
name = "north"
file = "north.csv"
[[participants]]
name = "south"
file = "south.csv"
"""


def table(offset, count=12):
    records = [f"{30 + offset + n},{'fm'[n % 2]},{n % 3 % 2}\n" for n in range(count)]
    return "".join(["age,sex,ill\n", *records])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "north.csv").write_text(table(0))
    (tmp_path / "south.csv").write_text(table(20, 9))
    return tmp_path


def config_in(folder, text):
    (folder / "c.toml").write_text(text)
    return load_config(folder / "c.toml")


def refusal(folder, text, kind=DataError):
    with pytest.raises(kind) as caught:
        load_participants(config_in(folder, text), seed=0)
    return str(caught.value)


class TestFiles:
    def test_tables_become_participants(self, folder):
        config = config_in(folder, HEAD.format("files") + TABLE + PEOPLE)
        north, south = load_participants(config, seed=0)
        assert (north.name, south.name) == ("north", "south")
        assert len(north.train) + len(north.test) == 12
        assert len(south.train) + len(south.test) == 9
        ages = np.sort(np.concatenate([north.train.features[:, 0], north.test.features[:, 0]]))
        np.testing.assert_allclose(ages, 2 * (np.arange(30, 42) - 20) / 70 - 1)

    def test_what_is_held_out_depends_on_seed_and_name_only(self, folder):
        config = config_in(folder, HEAD.format("files") + TABLE + PEOPLE)
        one, same, other = (samples_of_all(config, seed)[0].test for seed in (0, 0, 1))
        np.testing.assert_array_equal(one.features, same.features)
        assert not np.array_equal(one.features, other.features)

    def test_a_patient_is_the_same_under_every_seed(self, folder):
        """So that standard errors count each once."""
        config = config_in(folder, HEAD.format("files") + TABLE + PEOPLE)
        ages = {}
        for seed in (0, 1):
            own = load_participants(config, seed)[0]
            for row, age in zip(own.test_patients, own.test.features[:, 0], strict=True):
                assert ages.setdefault(row, age) == age
        assert len(ages) > 4

    def test_renewals_keep_the_earlier_tables(self, folder):
        (folder / "later.csv").write_text(table(5, 15))
        more = '[[renewals]]\nname = "north"\nfile = "later.csv"\n'
        config = config_in(folder, HEAD.format("files") + TABLE + PEOPLE + more)
        north, south = load_participants(config, seed=0)
        assert len(north.train) + len(north.test) == 15
        (before,) = north.earlier
        assert len(before.train) + len(before.test) == 12
        assert south.earlier == ()
        stranger = more.replace("north", "east")
        assert "nobody of this name takes part" in refusal(
            folder, HEAD.format("files") + TABLE + PEOPLE + stranger, ConfigError
        )

    def test_a_test_file_is_tested_on_and_nothing_is_held_out(self, folder):
        (folder / "later.csv").write_text(table(5, 4))
        people = PEOPLE.replace('"north.csv"', '"north.csv"\ntest_file = "later.csv"')
        north, _ = samples_of_all(config_in(folder, HEAD.format("files") + TABLE + people), 0)
        assert (len(north.train), len(north.test)) == (12, 4)

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("\n35,m", "\nold,m", ("north.csv, line 7, column age", "not a number", "'old'")),
            ("\n35,m", "\n,m", ("north.csv, line 7, column age", "missing", "optional")),
            ("\n35,m", "\nNaN,m", ("north.csv, line 7, column age", "missing")),
            ("\n35,m", "\n35,x", ("north.csv, line 7, column sex", "unknown code", "'x'")),
            ("\n35,m,0", "\n35,m,7", ("north.csv, line 7, column ill", "not a known class")),
            ("\n35,m", "\n35", ("north.csv, line 7", "wrong number of fields")),
            ("age,", "years,", ("north.csv", "column 'age' is not in the table", "years")),
        ],
    )
    def test_a_bad_cell_is_named_by_participant_file_line_and_column(self, folder, old, new, words):
        text = (folder / "north.csv").read_text()
        (folder / "north.csv").write_text(text.replace("35,m,1", "35,m,0").replace(old, new))
        message = refusal(folder, HEAD.format("files") + TABLE + PEOPLE)
        for word in ("participant north", *words):
            assert word in message

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("gone.csv", ("participant south", "cannot read", "gone.csv")),
            ("gone", ("participant south", "cannot read", "it is not there")),
            ("empty.csv", ("participant south", "no rows", "empty.csv")),
            ("north.doc", ("participant south", "unknown kind of file", ".parquet")),
        ],
    )
    def test_a_bad_file_is_named_with_its_participant(self, folder, name, words):
        (folder / "empty.csv").write_text("age,sex,ill\n")
        (folder / "north.doc").write_text("")
        message = refusal(folder, HEAD.format("files") + TABLE + PEOPLE.replace("south.csv", name))
        for word in words:
            assert word in message

    def test_parquet_and_csv_give_the_same_samples(self, folder):
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import csv, parquet

        parquet.write_table(csv.read_csv(folder / "south.csv"), folder / "south.parquet")
        assert pyarrow
        text = HEAD.format("files") + TABLE + PEOPLE
        a = samples_of_all(config_in(folder, text), 0)[1]
        b = samples_of_all(config_in(folder, text.replace("south.csv", "south.parquet")), 0)[1]
        np.testing.assert_array_equal(a.train.features, b.train.features)
        np.testing.assert_array_equal(a.test.labels, b.test.labels)

    def test_arrays_share_their_number_of_classes(self, folder):
        rng = np.random.default_rng(0)
        for name, classes in (("a", 2), ("b", 3)):
            x, y = rng.uniform(-3, 3, (20, 4)), np.arange(20) % classes
            np.savez(folder / f"{name}.npz", features=x, labels=y)
        people = PEOPLE.replace("north.csv", "a.npz").replace("south.csv", "b.npz")
        text = HEAD.format("files") + "feature_range = [-3, 3]\n" + people
        assert [own.train.classes for own in samples_of_all(config_in(folder, text), 0)] == [3, 3]
        message = refusal(folder, HEAD.format("files") + people)
        assert "participant north, a.npz, sample 0" in message
        assert "feature_range" in message

    def test_arrays_of_different_width_are_refused(self, folder):
        for name, width in (("a", 2), ("b", 3)):
            np.savez(folder / f"{name}.npz", features=np.zeros((8, width)), labels=np.arange(8) % 2)
        people = PEOPLE.replace("north.csv", "a.npz").replace("south.csv", "b.npz")
        message = refusal(folder, HEAD.format("files") + people)
        assert message.startswith("south: the number of features differs from north's")

    def test_arrays_have_no_code_that_could_be_the_positive_one(self, folder):
        """A table's labels would be turned round, and those of arrays beside it would not."""
        rng = np.random.default_rng(0)
        np.savez(folder / "b.npz", features=rng.random((8, 2)), labels=np.arange(8) % 2)
        table = TABLE.replace('label = "ill"', 'label = "ill"\npositive = "0"')
        text = HEAD.format("files") + table + PEOPLE
        assert config_in(folder, text).table.groups[-1] == ("0",)
        message = refusal(folder, text.replace("south.csv", "b.npz"))
        assert "b.npz: arrays have numbers of classes, no codes" in message


class TestInference:
    TEXT = HEAD.format("files") + '[table]\nlabel = "ill"\n' + PEOPLE

    def test_the_resolved_configuration_spells_the_rules_out(self, folder):
        config = config_in(folder, self.TEXT)
        found = resolve(config, ReadTables())
        assert found.inferred
        assert found.config.table.origin == "participants"
        assert [column.name for column in found.config.table.columns] == ["age", "sex"]
        # Each rounds its own outwards: 30 to 41 becomes 30 to 50, 50 to 58 stays.
        assert (found.config.table.columns[0].low, found.config.table.columns[0].high) == (30, 58)
        again = parse_config(to_toml(found.config), source="t")
        assert resolve(again, ReadTables()).config == found.config
        for a, b in zip(samples_of_all(config, 0), samples_of_all(again, 0), strict=True):
            np.testing.assert_array_equal(a.train.features, b.train.features)

    def test_given_columns_need_no_classes(self, folder):
        text = HEAD.format("files") + TABLE.replace("classes = [0, 1]\n", "") + PEOPLE
        found = resolve(config_in(folder, text), ReadTables())
        assert not found.inferred
        assert found.config.table.classes == (("0",), ("1",))
        assert found.config.table.origin == "public"

    def test_what_is_given_is_left_alone(self, folder):
        config = config_in(folder, HEAD.format("files") + TABLE + PEOPLE)
        assert resolve(config, ReadTables()).config is config

    def test_columns_of_some_are_used_by_those_who_have_them_or_by_nobody(self, folder):
        (folder / "south.csv").write_text("age,gender,ill\n30,f,0\n40,m,1\n30,f,0\n40,m,1\n")
        config = config_in(folder, self.TEXT)
        found = resolve(config, ReadTables())
        assert found.unused == {}
        own = [[rule.name for rule in one.columns] for one in found.config.participants]
        assert own == [["sex"], ["gender"]]
        assert [rule.name for rule in found.config.table.columns] == ["age"]
        found = resolve(config, ReadTables(), further=False)
        assert found.unused == {
            "sex": "only in the table of north",
            "gender": "only in the table of south",
        }


MODULE = """
import numpy as np

def load(seed, test_fraction):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-1, 1, (30, 3)), np.arange(30) % 2
    return {"a": ((x, y), (x[:6], y[:6])), "b": (x, y)}

def whatever(**options):
    return load(**options)

def alone():
    return {"a": 1}

def broken():
    return 1 / 0

number = 3
"""
CENTERS = """
import torch
from torch.utils.data import Dataset

NUM_CLIENTS = 3

class FedToy(Dataset):
    '''As FLamby's data sets: Dataset(center=0, train=True, pooled=False).'''

    def __init__(self, center=0, train=True, pooled=False):
        generator = torch.Generator().manual_seed(2 * center + train)
        count = 20 + center if train else 8
        self.x = torch.randn(count, 5, generator=generator)
        self.y = (torch.arange(count) % 2).to(torch.float32).reshape(-1, 1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        return self.x[at], self.y[at]
"""


class TestCode:
    @pytest.fixture
    def module(self, folder, request):
        """A name that no other test has imported."""
        name = "own_" + re.sub(r"\W", "_", request.node.name)
        (folder / f"{name}.py").write_text(MODULE)
        return name

    def text(self, entry, source="python", more=""):
        return HEAD.format(source) + f'entry = "{entry}"\n{more}'

    def test_a_function_returns_participants(self, folder, module):
        a, b = load_participants(config_in(folder, self.text(f"{module}:load")), seed=4)
        assert (len(a.train), len(a.test)) == (30, 6)
        assert (len(b.train), len(b.test)) == (20, 10)
        same, _ = load_participants(config_in(folder, self.text(f"{module}:whatever")), seed=4)
        np.testing.assert_array_equal(a.train.features, same.train.features)
        other, _ = load_participants(config_in(folder, self.text(f"{module}:load")), seed=5)
        assert not np.array_equal(a.train.features, other.train.features)

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("gone", ("data.entry", "no function or class of this name", "'gone'")),
            ("number", ("no function or class",)),
            ("alone", ("at least two participants", "found '1'")),
            ("broken", ("ZeroDivisionError: division by zero", ".py, line 16")),
        ],
    )
    def test_what_cannot_be_called_or_fails_is_named(self, folder, module, name, words):
        message = refusal(folder, self.text(f"{module}:{name}"), (DataError, ConfigError))
        for word in words:
            assert word in message

    @pytest.mark.parametrize(("more", "expected"), [("", 3), ("centers = 2\n", 2)])
    def test_flamby_data_sets_are_centres(self, folder, module, more, expected):
        (folder / f"{module}.py").write_text(CENTERS)
        more += "feature_range = [-3, 3]\n"
        everyone = load_participants(
            config_in(folder, self.text(f"{module}:FedToy", "flamby", more)), seed=0
        )
        assert [own.name for own in everyone] == [f"center {k}" for k in range(expected)]
        assert [len(own.train) for own in everyone] == [20, 21, 22][:expected]
        assert {len(own.test) for own in everyone} == {8}
        assert everyone[0].train.features.shape == (20, 5)

    def test_the_number_of_centres_must_be_known(self, folder, module):
        (folder / f"{module}.py").write_text(CENTERS.replace("NUM_CLIENTS = 3", ""))
        message = refusal(folder, self.text(f"{module}:FedToy", "flamby"), ConfigError)
        assert "data.centers" in message
        assert "NUM_CLIENTS" in message


class Frame:
    """As a data frame: columns with dtypes, no dtype of its own."""

    def __init__(self, values):
        self.values, self.dtypes = values, [values.dtype] * values.shape[1]

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, column):
        raise KeyError(column)


def test_a_data_frame_and_its_labels_are_one_data_set():
    x, y = np.linspace(-1, 1, 24).reshape(12, 2), np.arange(12) % 2
    own = participant_of("a", (Frame(x), y), test_fraction=1 / 3, seed=0)
    assert (len(own.train), len(own.test)) == (8, 4)
    held = np.concatenate([own.train.features, own.test.features])
    np.testing.assert_array_equal(np.sort(held, axis=0), x)


def test_a_pair_of_arrays_is_one_data_set_and_a_pair_of_pairs_is_two():
    x, y = np.zeros((12, 2)), np.arange(12) % 2
    one = participant_of("a", (x, y), test_fraction=1 / 3, seed=0)
    assert (len(one.train), len(one.test)) == (8, 4)
    two = participant_of("a", ((x, y), (x, y)), test_fraction=1 / 3, seed=0)
    assert (len(two.train), len(two.test)) == (12, 12)


def test_decimal_commas_are_read_beside_codes_that_the_configuration_declares(folder):
    """Codes of a missing value are put aside first."""
    for name, rows in (("north", 12), ("south", 9)):
        lines = [
            f"{'NC' if n % 2 else f'{30 + n},5'};{'fm'[n % 2]};{n % 3 % 2}" for n in range(rows)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["age;sex;ill", *lines]) + "\n")
    table = TABLE.replace('label = "ill"', 'label = "ill"\nmissing = ["NC"]')
    table = table.replace("high = 90", "high = 90\noptional = true")
    config = config_in(folder, HEAD.format("files") + table + PEOPLE)
    north, _ = load_participants(config, 0)
    ages = np.concatenate([north.train.features[:, 0], north.test.features[:, 0]])
    assert sorted(ages[ages != 0]) == pytest.approx([(n - 24.5) / 35 for n in range(0, 12, 2)])


def test_a_number_to_predict_that_no_table_has_is_named(folder):
    text = HEAD.format("files") + '[table]\nlabel = "agge"\noutcome = "number"\n' + PEOPLE
    with pytest.raises(DataError, match=r"north.csv: the label is not a column.*Did you mean age"):
        resolve(config_in(folder, text), ReadTables())
