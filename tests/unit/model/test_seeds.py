from securefair.model.seeds import derive_seed


def test_each_argument_matters_and_equal_ones_agree():
    calls = [(0, "head", "a"), (1, "head", "a"), (0, "batches", "a"), (0, "head", "b")]
    seeds = [derive_seed(*call) for call in calls]
    assert len(set(seeds)) == 4
    assert seeds == [derive_seed(*call) for call in calls]
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_fields_cannot_run_into_each_other():
    assert derive_seed(0, "he", "ada") != derive_seed(0, "head", "a")
    assert derive_seed(0, 'a","b', "c") != derive_seed(0, "a", 'b","c')


def test_the_derivation_never_changes():
    assert derive_seed(7, "head", "cleveland") == 4751737140534638194
