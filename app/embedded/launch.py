"""Becomes another program that gets a signal when the process that started it ends, and short turns. Imports nothing of ours.

Run by path (`python -I -S launch.py PARENT SIGNAL ACCOUNT PROGRAM [ARGUMENT…]`), so that no Python code runs between fork
and exec of a process that may have threads. PARENT is the process id of the starter; SIGNAL is sent to the program when
the starter's thread ends (Linux; elsewhere there is no such thing); ACCOUNT is `uid:gid`, or `-` to stay who we are.
"""

import ctypes
import os
import struct
import sys

PR_SET_PDEATHSIG = 1
PARENT_IS_GONE = 70

TURN_NANOSECONDS = 100_000
"""Nanoseconds that the program may run while others wait: the least that Linux takes. Unasked it gives 2 to 4 ms, several times what
storing a record takes, which needs turns of two processes (ADR 108)."""

_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
"""Number of the system call by type of machine. The C library has a function for it only since 2025."""


def main() -> None:
    """Becomes the program named on the command line."""
    parent, death_signal, account, program = sys.argv[1:5]
    if account != "-":
        uid, gid = (int(number) for number in account.split(":"))
        # The user last: without root's rights the groups can no longer be changed.
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    # The kernel clears the death signal when the account changes, so it is requested last.
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
    if os.getppid() != int(parent):  # it ended before the signal was requested
        sys.exit(PARENT_IS_GONE)
    shorten_turns()
    os.execv(program, sys.argv[4:])  # noqa: S606 - this file's whole job; the arguments are our own


def shorten_turns() -> None:
    """Asks for short turns, for this process and all that it starts. Changes nothing before Linux 6.12, and where that is not allowed."""
    call = _SCHED_SETATTR.get(os.uname().machine)
    # With another policy (`chrt`), the operator has decided already.
    if sys.platform != "linux" or call is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    # struct sched_attr: its size, policy, flags, niceness, priority, runtime, deadline and period
    attributes = struct.pack("=IIQiIQQQ", 48, os.SCHED_OTHER, 0, niceness, 0, TURN_NANOSECONDS, 0, 0)
    ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(call), ctypes.c_long(0), attributes, ctypes.c_long(0))


if __name__ == "__main__":
    main()
