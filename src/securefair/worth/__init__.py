"""What a collaboration is worth: controls, scores, and whom to listen to.

Place in the flow: released distillation terms -> **alignment -> reputation -> sharing decision** ->
optimizer step -> **scores** -> report. Fairness and scores are functions of numbers and know no
models; controls train what everyone reaches without the others. Accuracies are fractions in [0, 1]
or percent; gains come in the same unit as the accuracies they are made of.
"""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.worth.algorithm import Algorithm as Algorithm
    from securefair.worth.algorithm import run as run
    from securefair.worth.alignment import cosine as cosine
    from securefair.worth.bootstrap import Scored as Scored
    from securefair.worth.bootstrap import ScoredPredictions as ScoredPredictions
    from securefair.worth.bootstrap import ScoreSummary as ScoreSummary
    from securefair.worth.early_stopping import EarlyStopping as EarlyStopping
    from securefair.worth.gain import DDOF_EQUATION_5 as DDOF_EQUATION_5
    from securefair.worth.gain import DDOF_TABLES as DDOF_TABLES
    from securefair.worth.gain import cgs as cgs
    from securefair.worth.gain import cgs_over_seeds as cgs_over_seeds
    from securefair.worth.gain import gains as gains
    from securefair.worth.gain import mcg as mcg
    from securefair.worth.gain import mva as mva
    from securefair.worth.gain import no_gain_bound as no_gain_bound
    from securefair.worth.heads import HeadLearners as HeadLearners
    from securefair.worth.heads import Heads as Heads
    from securefair.worth.interval import Interval as Interval
    from securefair.worth.interval import wilson as wilson
    from securefair.worth.learners import LearningState as LearningState
    from securefair.worth.learners import SelfTaught as SelfTaught
    from securefair.worth.learners import TrainStates as TrainStates
    from securefair.worth.membership import check_participants as check_participants
    from securefair.worth.mixing import TOPOLOGIES as TOPOLOGIES
    from securefair.worth.mixing import WEIGHTINGS as WEIGHTINGS
    from securefair.worth.mixing import Graph as Graph
    from securefair.worth.mixing import Matrix as Matrix
    from securefair.worth.mixing import attractions as attractions
    from securefair.worth.mixing import graph_of_edges as graph_of_edges
    from securefair.worth.mixing import preferences as preferences
    from securefair.worth.mixing import round_similarities as round_similarities
    from securefair.worth.mixing import similarity as similarity
    from securefair.worth.mixing import smooth as smooth
    from securefair.worth.networks import NetworkLearners as NetworkLearners
    from securefair.worth.own_row import kept_row as kept_row
    from securefair.worth.own_row import link_probabilities as link_probabilities
    from securefair.worth.page import ScoreEstimate as ScoreEstimate
    from securefair.worth.page import ScorePage as ScorePage
    from securefair.worth.page import score_page as score_page
    from securefair.worth.reputation import ReputationRule as ReputationRule
    from securefair.worth.sharing import coin as coin
    from securefair.worth.sharing import distillation_weights as distillation_weights
    from securefair.worth.sharing import private_coin as private_coin
    from securefair.worth.tuned import TunedPopulation as TunedPopulation
    from securefair.worth.tuned import own_fits as own_fits

# Only controls need torch.
__getattr__, __dir__, __all__ = on_first_use(__name__)
