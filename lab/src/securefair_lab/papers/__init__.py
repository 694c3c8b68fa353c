"""The papers' tables beside ours: named experiments, run whole, compared number by number.

`experiment` says what an experiment is, `catalogue` lists them all, `running` runs and resumes one,
`reference` knows what the papers print, `comparison` puts the two side by side, `command` is the
command line.
"""
