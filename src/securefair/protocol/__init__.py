"""Who says what, when: the rounds around encrypted distillation, without I/O, clock or arrays.

`machine` decides what one participant sends and computes; `jobs` names what it wants computed,
`messages` what it says, `codec` turns that into bytes, `ledger` counts what it discloses, and
`states` holds every transition. Read `messages`, `states`, `machine`, in this order.
"""
