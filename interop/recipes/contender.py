"""kazoo's recipes, held and given back as the harness says; see contender.ts for the words."""

import logging
import queue
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock
from kazoo.recipe.party import Party
from kazoo.recipe.queue import LockingQueue

logging.disable(logging.CRITICAL)

SESSION_S = 3
PATIENCE_S = 60


class NamedLock(Lock):
    """A lock whose nodes are named as Curator names them, for Curator would not know them else."""

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["lock-", "__lock__"]


class NamedWriteLock(Lock):
    _NODE_NAME = "-__WRIT__"
    _EXCLUDE_NAMES = ["__WRIT__", "__READ__"]


class NamedReadLock(Lock):
    _NODE_NAME = "-__READ__"
    _EXCLUDE_NAMES = ["__WRIT__"]


def now():
    return time.monotonic_ns()


class Hand:
    def __init__(self, client, name):
        self.client = client
        self.name = name
        self.wishes = queue.Queue()
        self.held = None
        self.barrier = None
        self.queues = {}
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            words = self.wishes.get()
            try:
                getattr(self, "do_" + words[0])(*words[1:])
            except Exception as error:
                self.tell(f"failed {error!r}".replace("\n", " "))

    def do_acquire(self, kind, path):
        self.held = self.acquire(kind, path)
        self.tell(f"held {now()}")

    def do_release(self):
        at = now()
        self.held.release()
        self.tell(f"released {at}")

    def do_turns(self, kind, path, count, ledger):
        for _ in range(int(count)):
            held = self.acquire(kind, path)
            entered = now()
            self.write(kind, ledger)
            left = now()
            held.release()
            self.tell(f"turn {entered} {left}")
        self.tell("done")

    def do_enter(self, path, members):
        at = now()
        self.barrier = self.client.DoubleBarrier(path, int(members))
        self.barrier.enter()
        assert self.barrier.participating, "not entered"
        self.tell(f"entered {at} {now()}")

    def do_leave(self):
        at = now()
        self.barrier.leave()
        self.tell(f"left {at} {now()}")

    def do_raise(self, path):
        self.client.Barrier(path).create()
        self.tell("raised")

    def do_lower(self, path):
        at = now()
        self.client.Barrier(path).remove()
        self.tell(f"lowered {at}")

    def do_pass(self, path):
        assert self.client.Barrier(path).wait(PATIENCE_S), "the barrier stayed"
        self.tell(f"passed {now()}")

    def do_put(self, path, count):
        for number in range(int(count)):
            self.queue_at(path).put(f"{self.name}:{number}".encode())
        self.tell("done")

    def do_attend(self, path, identifier):
        Party(self.client, path, identifier).join()
        self.tell("attending")

    def do_guests(self, path, count):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = sorted(Party(self.client, path))
            if len(found) == int(count):
                return self.tell("guests " + " ".join(found))
            time.sleep(0.02)
        raise TimeoutError("not so many guests in time")

    def do_consume(self, path, count):
        for _ in range(int(count)):
            self.do_take(path)
            assert self.queue_at(path).consume(), "not consumed"
        self.tell("done")

    def do_take(self, path):
        value = self.queue_at(path).get(timeout=PATIENCE_S)
        assert value is not None, "no item in time"
        self.tell(f"item {value.decode()}")

    def queue_at(self, path):
        if path not in self.queues:
            self.queues[path] = LockingQueue(self.client, path)
        return self.queues[path]

    def acquire(self, kind, path):
        lock = self.recipe(kind, path)
        assert lock.acquire(timeout=PATIENCE_S), "not acquired in time"
        return lock

    def recipe(self, kind, path):
        if kind == "lock":
            return self.client.Lock(path, self.name, extra_lock_patterns=["lock-"])
        if kind == "read":
            return self.client.ReadLock(path, self.name, extra_lock_patterns=["__WRIT__"])
        if kind == "write":
            patterns = ["__WRIT__", "__READ__"]
            return self.client.WriteLock(path, self.name, extra_lock_patterns=patterns)
        if kind == "lock:named":
            return NamedLock(self.client, path, self.name)
        if kind == "read:named":
            return NamedReadLock(self.client, path, self.name)
        if kind == "write:named":
            return NamedWriteLock(self.client, path, self.name)
        raise ValueError(kind)

    def write(self, kind, ledger):
        """By compare and set, which only goes wrong where two are in at once."""
        found, stat = self.client.get(ledger)
        assert found == b"free", f"VIOLATION: {found} is in, too"
        if kind.startswith("read"):
            after = self.client.exists(ledger)
            assert after.version == stat.version, "VIOLATION: a writer beside a reader"
            return
        stat = self.client.set(ledger, self.name.encode(), version=stat.version)
        self.client.set(ledger, b"free", version=stat.version)

    def tell(self, what):
        say(f"{self.name} {what}")


def say(line):
    with saying:
        print(line, flush=True)


saying = threading.Lock()
client = KazooClient(hosts=sys.argv[1], timeout=SESSION_S)
client.start(timeout=10)
hands = {}
say("ready")
for line in sys.stdin:
    name, *words = line.split()
    if name not in hands:
        hands[name] = Hand(client, name)
    hands[name].wishes.put(words)
client.stop()
