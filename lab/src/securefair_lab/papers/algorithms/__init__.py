"""Algorithms that only the papers' comparisons need, one file each, written like their papers.

Nothing of them runs encrypted; `algorithms` holds the controls and what does.
"""

from securefair_lab.papers.algorithms.apfl import Apfl
from securefair_lab.papers.algorithms.ditto import Ditto
from securefair_lab.papers.algorithms.dpfl import Dpfl
from securefair_lab.papers.algorithms.fedavg import FedAvg
from securefair_lab.papers.algorithms.fedprox import FedProx
from securefair_lab.papers.algorithms.fedrep import FedRep
from securefair_lab.papers.algorithms.fine_tuned import FineTuned
from securefair_lab.papers.algorithms.knn_per import KnnPer
from securefair_lab.papers.algorithms.pacfl import Pacfl
from securefair_lab.papers.algorithms.per_fedavg import PerFedAvg
from securefair_lab.papers.algorithms.pfedgraph import PFedGraph

__all__ = [
    "Apfl",
    "Ditto",
    "Dpfl",
    "FedAvg",
    "FedProx",
    "FedRep",
    "FineTuned",
    "KnnPer",
    "PFedGraph",
    "Pacfl",
    "PerFedAvg",
]
