"""The laboratory of securefair: what researchers run, beside what hospitals do.

Papers and their results (`papers`), the published algorithms in the clear (`algorithms`), research
data and who holds what of them (`data`), networks of public benchmarks (`networks`), and what
measures how costs grow (`profiling`). It imports `securefair`; `securefair` never imports it, and
finds what it adds by entry points.
"""

from securefair import __version__

__all__ = ["__version__"]
