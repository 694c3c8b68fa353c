"""Algorithms that only the papers' comparisons need, one file each, written like their papers.

Nothing of them runs encrypted; `algorithms` holds the controls and what does.
"""

from securefair.papers.algorithms.apfl import Apfl
from securefair.papers.algorithms.ditto import Ditto
from securefair.papers.algorithms.dpfl import Dpfl
from securefair.papers.algorithms.fedavg import FedAvg
from securefair.papers.algorithms.fedprox import FedProx
from securefair.papers.algorithms.fedrep import FedRep
from securefair.papers.algorithms.fine_tuned import FineTuned
from securefair.papers.algorithms.knn_per import KnnPer
from securefair.papers.algorithms.pacfl import Pacfl
from securefair.papers.algorithms.per_fedavg import PerFedAvg
from securefair.papers.algorithms.pfedgraph import PFedGraph

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
