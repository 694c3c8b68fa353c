from securefair.report.labels import stacked_tables

ROW = (
    '<tr><th scope="row">N</th><td>1\u00a0±\u00a02</td><td class="text">b</td><td></td>'
    "<td>4 ± 1</td></tr>"
)
HEAD = "<thead><tr>{}</tr></thead>"


def table(names, row, opening="<table>"):
    head = HEAD.format("".join(f'<th scope="col">{name}</th>' for name in names))
    return f"{opening}{head}<tbody>{row}</tbody></table>"


def test_cells_of_wide_tables_name_their_headings():
    wide = table(["Of", "A", "B &lt;b&gt;", "C", "D<sup>2</sup>"], ROW)
    found = stacked_tables(f"<p>a</p>{wide}")
    assert found.startswith('<p>a</p><table class="stacked"><thead>')
    assert '<td data-label="A">1 ±\u00a02</td>' in found
    assert '<td data-label="B &lt;b&gt;" class="text">b</td>' in found
    assert '<td data-label="D2">4 ±\u00a01</td>' in found
    assert '<th scope="row">N</th>' in found


def test_narrow_tables_and_heat_maps_stay():
    narrow = table(["Of", "A", "B", "C"], ROW)
    heat = table(["Of", "A", "B", "C", "D"], ROW, '<table class="heat">')
    assert stacked_tables(narrow + heat) == narrow + heat


def test_every_row_starts_anew():
    found = stacked_tables(table(["Of", "A", "B", "C", "D"], ROW + ROW))
    assert found.count('data-label="A"') == found.count('data-label="D"') == 2
