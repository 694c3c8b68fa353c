"""Loaded first by what processes of a run are forked from, and by nothing else.

Nothing is collected while it loads. Libraries make half a million objects that stay. To look
through them again and again, as they become more, is a sixth of the time that loading takes.
`loaded` ends it.
"""

import gc

gc.disable()
