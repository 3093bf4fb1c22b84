# SPDX-License-Identifier: Apache-2.0
"""Nobody is at rest while another thread works, however short that is."""
import hashlib
import sys
import threading
import time

from rest import rest

ROUND = 4000   # of hashing, for which a thread lets go of the interpreter's lock: some milliseconds
LEFT = 0.0005  # seconds of processor time, for coming to an end


def work():
    begun.set()
    hashlib.pbkdf2_hmac("sha256", b"", b"", rounds)
    used.append(time.thread_time())
    looked.wait()


rested = False
for rounds in range(ROUND, 21 * ROUND, ROUND):
    begun, looked, used = threading.Event(), threading.Event(), []
    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    at_rest = rest()
    used_at_rest = time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
    looked.set()
    thread.join()
    rested = rested or at_rest
    if at_rest and used[0] - used_at_rest > LEFT:
        sys.exit(f"at rest beside a thread that hashes {rounds} times")
if not rested:
    sys.exit(77)  # skipped: the machine is too loaded to come to rest
