from securefair.model.seeds import derived_seed


def test_each_argument_matters_and_equal_ones_agree():
    calls = [(0, "head", "a"), (1, "head", "a"), (0, "batches", "a"), (0, "head", "b")]
    seeds = [derived_seed(*call) for call in calls]
    assert len(set(seeds)) == 4
    assert seeds == [derived_seed(*call) for call in calls]
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_fields_cannot_run_into_each_other():
    assert derived_seed(0, "he", "ada") != derived_seed(0, "head", "a")
    assert derived_seed(0, 'a","b', "c") != derived_seed(0, "a", 'b","c')


def test_the_derivation_never_changes():
    assert derived_seed(7, "head", "cleveland") == 4751737140534638194
