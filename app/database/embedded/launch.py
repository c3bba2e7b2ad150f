"""Becomes another program that gets a signal when the process that started it ends. Imports nothing of ours.

Run by path (`python -I -S launch.py PARENT SIGNAL ACCOUNT PROGRAM [ARGUMENT…]`): no Python code between
fork and exec. PARENT is a process id; SIGNAL is sent when its thread ends (Linux only); ACCOUNT is
`uid:gid`, or `-`.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1
PARENT_GONE_STATUS = 70


def main() -> None:
    parent, death_signal, account, program = sys.argv[1:5]
    if account != "-":
        uid, gid = (int(number) for number in account.split(":"))
        # The user last: without root's rights the groups cannot change.
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    # Last: the kernel clears the death signal when the account changes.
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
    if os.getppid() != int(parent):  # it ended before the signal was requested
        sys.exit(PARENT_GONE_STATUS)
    os.execv(program, sys.argv[4:])  # noqa: S606 - this file's whole job; the arguments are our own


if __name__ == "__main__":
    main()
