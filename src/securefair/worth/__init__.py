"""What a collaboration is worth: controls, scores, and whom to listen to.

Place in the flow: released distillation terms -> **alignment -> reputation -> sharing decision** ->
optimizer step -> **scores** -> report. Fairness and scores are functions of numbers and know no
models; controls train what everyone reaches without the others. Accuracies are fractions in [0, 1]
or percent; gains come in the same unit as the accuracies they are made of.
"""

from typing import TYPE_CHECKING

from securefair.errors import open_door

if TYPE_CHECKING:
    from securefair.worth.algorithm import Algorithm, run
    from securefair.worth.alignment import cosine
    from securefair.worth.bootstrap import Predictions, Scored, ScoreSummary
    from securefair.worth.classification import accuracy, balanced_accuracy, confusion, mcc
    from securefair.worth.correlation import Correlation, collaborative_fairness, pearson
    from securefair.worth.early_stopping import EarlyStopping
    from securefair.worth.gain import (
        DDOF_EQUATION_5,
        DDOF_TABLES,
        cgs,
        gains,
        mcg,
        mva,
        no_gain_bound,
    )
    from securefair.worth.heads import HeadLearners
    from securefair.worth.interval import Interval, counted, wilson
    from securefair.worth.learners import LearningState, SelfTaught
    from securefair.worth.mixing import (
        TOPOLOGIES,
        WEIGHTINGS,
        Graph,
        Matrix,
        attractions,
        graph_of_edges,
        link_coins,
        links,
        mix,
        preferences,
        rounded,
        similarity,
        smooth,
    )
    from securefair.worth.networks import NetworkLearners
    from securefair.worth.probabilistic import probabilistic_scores
    from securefair.worth.reputation import ReputationRule
    from securefair.worth.sharing import (
        coin,
        distillation_weights,
        is_forced,
        peers_to_ask,
        private_coin,
        shares,
    )
    from securefair.worth.significance import Difference, t_test
    from securefair.worth.tuned import TunedPopulation, own_fits

# Only controls need torch.
__getattr__, __dir__, __all__ = open_door(__name__)
