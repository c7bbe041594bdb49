"""What the harness asks of kazoo: plain calls one by one, else the asynchronous ones."""

import gc
import logging
import sys
import threading
import time

from kazoo.client import KazooClient

logging.disable(logging.CRITICAL)

DATA = b"x" * 100


def say(line):
    print(line, flush=True)


class Player:
    def __init__(self, address, root):
        self.root = root
        self.client = KazooClient(hosts=address, timeout=30)
        self.client.start(timeout=10)

    def fulfil(self, wish, *args):
        if wish == "load":
            self.load(args[0], int(args[1]), float(args[2]), args[3])
        elif wish == "arm":
            self.watches([args[0]])
        elif wish == "watches":
            self.watches([f"{args[0]}/{i}" for i in range(int(args[1]))])
        elif wish == "settle":
            gc.collect()
            say("settled")
        else:
            raise ValueError(wish)

    def load(self, operation, window, seconds, round_name):
        started_at = time.monotonic_ns()
        ends_at = started_at + int(seconds * 1e9)
        run = self.one_by_one if window == 1 else self.pipelined
        count = run(operation, window, ends_at, round_name)
        say(f"done {count} {time.monotonic_ns() - started_at}")

    def one_by_one(self, operation, _window, ends_at, round_name):
        count = 0
        while time.monotonic_ns() < ends_at:
            if operation == "get":
                self.client.get(self.root + "/data")
            elif operation == "set":
                self.client.set(self.root + "/data", DATA)
            else:
                self.client.create(f"{self.root}/{round_name}-{count}", DATA)
            count += 1
        return count

    def pipelined(self, operation, window, ends_at, round_name):
        free = threading.Semaphore(window)
        refused = []

        def settle(result):
            if result.exception is not None:
                refused.append(result.exception)
            free.release()

        count = 0
        while time.monotonic_ns() < ends_at:
            free.acquire()
            if operation == "get":
                call = self.client.get_async(self.root + "/data")
            elif operation == "set":
                call = self.client.set_async(self.root + "/data", DATA)
            else:
                call = self.client.create_async(f"{self.root}/{round_name}-{count}", DATA)
            call.rawlink(settle)
            count += 1
        for _ in range(window):
            free.acquire()
        if refused:
            raise refused[0]
        return count

    def watches(self, paths):
        fired = Countdown(len(paths), lambda: say(f"fired {time.monotonic_ns()}"))
        armed = Countdown(len(paths), lambda: say("armed"))

        def on_set(result):
            if result.exception is not None:
                say(f"failed {result.exception!r}")
            else:
                armed.one()

        def on_event(event):
            if event.type == "CHANGED":
                fired.one()

        for path in paths:
            self.client.get_async(path, watch=on_event).rawlink(on_set)


class Countdown:
    def __init__(self, count, at_zero):
        self.left = count
        self.at_zero = at_zero
        self.lock = threading.Lock()

    def one(self):
        with self.lock:
            self.left -= 1
            is_zero = self.left == 0
        if is_zero:
            self.at_zero()


player = Player(sys.argv[1], sys.argv[2])
say("ready")
for line in sys.stdin:
    player.fulfil(*line.split())
