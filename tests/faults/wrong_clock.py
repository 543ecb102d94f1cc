"""The ``skitter`` command on a machine whose time of day is some hours off.

Arguments: the hours, then those of the command. Time since boot is as it is.
"""

import sys
import time

_HOUR_NS = 3_600_000_000_000


def _shift(hours: int) -> None:
    real_ns, real_s, real_clock = time.time_ns, time.time, time.clock_gettime
    time.time_ns = lambda: real_ns() + hours * _HOUR_NS
    time.time = lambda: real_s() + hours * 3600

    def clock_gettime(clock: int) -> float:
        return real_clock(clock) + hours * 3600 * (clock == time.CLOCK_REALTIME)

    time.clock_gettime = clock_gettime


if __name__ == "__main__":
    _shift(int(sys.argv.pop(1)))
    sys.argv[0] = "skitter"
    from skitter.cli.main import main

    main()
