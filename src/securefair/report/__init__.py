"""Records -> files, tables and one self-contained HTML page.

Place in the flow: metrics -> **report**; nothing computes here any more. `facts` derives what
every output shows, `sentences` says it in words, `html` and `terminal` lay it out, `progress`
shows a run while it goes on, `files` writes so that a crash leaves no half file. `telling` and
`screen` are how commands print: nothing that came from a file or a peer steers a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.report.facts import teacher_disclosures as teacher_disclosures
    from securefair.report.files import check_new_file as check_new_file
    from securefair.report.files import check_new_folder as check_new_folder
    from securefair.report.files import check_writable as check_writable
    from securefair.report.files import read_json as read_json
    from securefair.report.files import read_json_lines as read_json_lines
    from securefair.report.files import write_bytes as write_bytes
    from securefair.report.files import write_json as write_json
    from securefair.report.files import write_json_lines as write_json_lines
    from securefair.report.files import write_text as write_text
    from securefair.report.files import written_together as written_together
    from securefair.report.fitting import FittingTable as FittingTable
    from securefair.report.fitting import TableColumn as TableColumn
    from securefair.report.html import render_report as render_report
    from securefair.report.pages import environment as environment
    from securefair.report.progress import PartProgress as PartProgress
    from securefair.report.progress import Progress as Progress
    from securefair.report.progress import show_progress as show_progress
    from securefair.report.scores import cell as cell
    from securefair.report.scores import certain_note as certain_note
    from securefair.report.scores import score_rows as score_rows
    from securefair.report.scores import titles_of as titles_of
    from securefair.report.screen import Screen as Screen
    from securefair.report.telling import say as say
    from securefair.report.telling import say_json as say_json
    from securefair.report.terminal import summary as summary
    from securefair.report.wording import algorithm_name as algorithm_name
    from securefair.report.wording import count as count
    from securefair.report.wording import data_size as data_size
    from securefair.report.wording import duration as duration
    from securefair.report.wording import percent as percent
    from securefair.report.wording import plural as plural
    from securefair.report.wording import points as points
    from securefair.report.wording import with_spread as with_spread


# Printing a line needs no engine of reports.
__getattr__, __dir__, __all__ = on_first_use(__name__)
