"""Transfer: one answer from every teacher, taken as an offset of one's own fit.

own fits -> keys for masks -> features to the teachers, encrypted -> masked answers
         -> their sum, or each of them -> mean logit -> settings averaged -> deployed model
"""

ROUNDS = 1
"""Of a transfer, whatever other algorithms of a run take; a renewal is one more."""
