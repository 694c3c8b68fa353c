"""Records -> files, tables and one self-contained HTML page.

Place in the flow: metrics -> **report**; nothing computes here any more. `facts` derives what
every output shows, `sentences` says it in words, `html` and `terminal` lay it out, `progress`
shows a run while it goes on, `files` writes so that a crash leaves no half file. `telling` and
`screen` are how commands print: nothing that came from a file or a peer steers a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import open_door

if TYPE_CHECKING:
    from securefair.report.files import (
        check_writable,
        read_json,
        read_json_lines,
        write_bytes,
        write_json,
        write_json_lines,
        write_text,
    )
    from securefair.report.html import write_report
    from securefair.report.progress import Progress, show_progress
    from securefair.report.terminal import summary

# Printing a line needs no engine of reports.
__getattr__, __dir__, __all__ = open_door(__name__)
