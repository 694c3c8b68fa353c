"""Loaded last by what processes of a run are forked from, and by nothing else.

Ctrl-C finds no import any more. Until then SIGINT is blocked there, as an import that is ended
shows a traceback. Processes that are forked later hear of it as ever: also those of others, for a
program has one such process. They collect what they leave behind (`loading`), and never look
through what was loaded here.
"""

import gc
import signal

gc.freeze()
gc.enable()

if signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # forgets what came meanwhile
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, signal.default_int_handler)
