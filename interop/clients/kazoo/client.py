"""kazoo, the Python client, at its ordinary work."""

import logging
import queue
import sys
import threading
import time

from kazoo import exceptions as refusal
from kazoo.client import KazooClient, KazooState
from kazoo.protocol.states import KeeperState
from kazoo.security import ACL, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, Id, Permissions

logging.disable(logging.CRITICAL)


def say(line):
    print(line, flush=True)


def ask(what):
    say("ask " + what)
    answer = sys.stdin.readline().strip()
    assert answer == "done", "the harness answered: " + answer


def same(wanted, got, what):
    assert wanted == got, f"{what}: wanted {wanted!r}, got {got!r}"


def refused(kind, call, *args, **options):
    try:
        call(*args, **options)
    except kind:
        return
    raise AssertionError(f"{call.__name__} {args} went through, wanted {kind.__name__}")


def open_session(server, timeout=8.0):
    client = KazooClient(hosts=server, timeout=timeout)
    client.start(timeout=10)
    return client


class Ear:
    """A watcher that remembers what it was told about nodes."""

    def __init__(self):
        self.heard = queue.Queue()

    def __call__(self, event):
        if event.type != "NONE":
            self.heard.put(event)

    def expect(self, kind, path, seconds=5):
        try:
            event = self.heard.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"no event within {seconds} s, wanted {kind} {path}") from None
        same((kind, path), (event.type, event.path), "event")

    def expect_silence(self):
        assert self.heard.empty(), f"unexpected event {self.heard.queue[0]}"


class Checks:
    def __init__(self, server, root):
        self.server = server
        self.root = root
        self.zk = open_session(server)

    def run(self):
        for name in CHECKS:
            try:
                getattr(self, name.replace("-", "_"))()
                say("ok " + name)
            except Exception as error:
                say(f"FAIL {name} {place(error)} {error!r}".replace("\n", " "))
        for name, why in ABSENT.items():
            say(f"absent {name} {why}")
        self.zk.stop()

    def connect(self):
        session_id, password = self.zk.client_id
        assert session_id != 0, "session id 0"
        same(16, len(password), "password length")
        same(8000, self.zk._session_timeout, "negotiated timeout")
        self.zk.create(self.root, b"root")

    def create(self):
        base = self.zk.create(self.root + "/create")
        path, stat = self.zk.create(base + "/plain", b"p", include_data=True)
        same(base + "/plain", path, "path")
        assert stat.czxid > 0 and stat.mzxid == stat.czxid, "zxids of a new node"
        same(base + "/s-0000000001", self.zk.create(base + "/s-", sequence=True), "name")
        both = self.zk.create(base + "/s-", sequence=True, ephemeral=True)
        same(base + "/s-0000000002", both, "name")
        self.zk.create(base + "/e", ephemeral=True)
        same(self.zk.client_id[0], self.zk.exists(base + "/e").ephemeralOwner, "owner")
        self.zk.create(base + "/made/on/the/way", makepath=True)

    def get_set(self):
        path = self.zk.create(self.root + "/data", b"one")
        data, stat = self.zk.get(path)
        same((b"one", 0), (data, stat.version), "data and version")
        same(1, self.zk.set(path, b"two", version=0).version, "version")
        same(2, self.zk.set(path, b"").version, "version")
        same(b"", self.zk.get(path)[0], "empty data")
        large = b"\7" * 900_000
        self.zk.set(path, large)
        assert self.zk.get(path)[0] == large, "900 kB came back changed"
        self.zk.set(path, None)
        assert not self.zk.get(path)[0], "data of a node set to none"

    def exists(self):
        same(None, self.zk.exists(self.root + "/nothing"), "stat of nothing")
        assert self.zk.exists(self.root) is not None, "the root exists"

    def children(self):
        base = self.zk.create(self.root + "/family")
        same([], self.zk.get_children(base), "no children yet")
        for name in ["a", "b", "ü"]:
            self.zk.create(base + "/" + name)
        names, stat = self.zk.get_children(base, include_data=True)
        same(["a", "b", "ü"], sorted(names), "children")
        same(3, stat.numChildren, "number of children")

    def delete(self):
        path = self.zk.create(self.root + "/gone/below", makepath=True)
        self.zk.delete(path, version=0)
        same(None, self.zk.exists(path), "stat of a deleted node")
        self.zk.create(path)
        self.zk.delete(self.root + "/gone", recursive=True)

    def versions(self):
        path = self.zk.create(self.root + "/versions")
        self.zk.set(path, b"x", version=0)
        refused(refusal.BadVersionError, self.zk.set, path, b"x", version=0)
        refused(refusal.BadVersionError, self.zk.delete, path, version=0)
        self.zk.delete(path, version=1)

    def refusals(self):
        path = self.zk.create(self.root + "/refusals")
        self.zk.create(path + "/e", ephemeral=True)
        refused(refusal.NodeExistsError, self.zk.create, path)
        refused(refusal.NoNodeError, self.zk.get, path + "/no")
        refused(refusal.NoNodeError, self.zk.create, path + "/no/child")
        refused(refusal.NoNodeError, self.zk.delete, path + "/no")
        refused(refusal.NotEmptyError, self.zk.delete, path)
        refused(refusal.NoChildrenForEphemeralsError, self.zk.create, path + "/e/child")

    def acl(self):
        owner, other = open_session(self.server), open_session(self.server)
        try:
            self.acl_between(owner, other)
        finally:
            owner.stop()
            other.stop()

    def acl_between(self, owner, other):
        owner.add_auth("digest", "ann:secret")
        path = owner.create(self.root + "/acl", b"mine", acl=CREATOR_ALL_ACL)
        acl, stat = owner.get_acls(path)
        same(("digest", 1), (acl[0].id.scheme, len(acl)), "entries")
        assert acl[0].id.id.startswith("ann:"), acl[0].id.id
        refused(refusal.NoAuthError, other.get, path)
        refused(refusal.NoAuthError, other.set_acls, path, OPEN_ACL_UNSAFE)
        readable = [acl[0], ACL(Permissions.READ, Id("world", "anyone"))]
        same(1, owner.set_acls(path, readable, version=stat.aversion).aversion, "aversion")
        refused(refusal.BadVersionError, owner.set_acls, path, readable, version=0)
        same(b"mine", other.get(path)[0], "data")
        refused(refusal.NoAuthError, other.set, path, b"x")
        other.add_auth("digest", "ann:secret")
        other.set(path, b"ours")
        nonsense = [ACL(Permissions.ALL, Id("nonsense", "x"))]
        refused(refusal.InvalidACLError, owner.set_acls, path, nonsense)

    def multi(self):
        base = self.zk.create(self.root + "/multi")
        self.zk.create(base + "/old")
        batch = self.zk.transaction()
        batch.create(base + "/new", b"n")
        batch.set_data(base + "/new", b"m", version=0)
        batch.check(base + "/new", version=1)
        batch.delete(base + "/old")
        created, stat, checked, deleted = batch.commit()
        same((base + "/new", 1, True, True), (created, stat.version, checked, deleted), "results")
        same(None, self.zk.exists(base + "/old"), "deleted in the transaction")

    def multi_refused(self):
        base = self.zk.create(self.root + "/refused")
        batch = self.zk.transaction()
        batch.create(base + "/new")
        batch.check(base, version=7)
        batch.delete(base + "/new")
        wanted = [refusal.RolledBackError, refusal.BadVersionError, refusal.RuntimeInconsistency]
        same(wanted, [type(result) for result in batch.commit()], "results")
        same([], self.zk.get_children(base), "children after a refused transaction")

    def watch_data(self):
        path = self.zk.create(self.root + "/watch-data")
        ear = Ear()
        self.zk.get(path, watch=ear)
        self.zk.set(path, b"1")
        ear.expect("CHANGED", path)
        self.zk.set(path, b"2")
        ear.expect_silence()
        self.zk.get(path, watch=ear)
        self.zk.delete(path)
        ear.expect("DELETED", path)

    def watch_exists(self):
        path = self.root + "/watch-exists"
        ear = Ear()
        self.zk.exists(path, watch=ear)
        self.zk.create(path)
        ear.expect("CREATED", path)
        self.zk.exists(path, watch=ear)
        self.zk.set(path, b"1")
        ear.expect("CHANGED", path)

    def watch_child(self):
        path = self.zk.create(self.root + "/watch-child")
        ear = Ear()
        self.zk.get_children(path, watch=ear)
        self.zk.create(path + "/a")
        ear.expect("CHILD", path)
        self.zk.get_children(path, watch=ear)
        self.zk.delete(path + "/a")
        ear.expect("CHILD", path)

    def sync(self):
        same(self.root, self.zk.sync(self.root), "path")

    def restart_soft(self):
        self.restart("restart-soft")

    def restart_hard(self):
        self.restart("restart-hard")

    def restart(self, how):
        path = self.zk.create(f"{self.root}/{how}", b"first", ephemeral=True)
        self.zk.set(path, b"acknowledged")
        session_id = self.zk.client_id[0]
        states = []
        self.zk.add_listener(states.append)
        ask(how)
        data, stat = self.zk.retry(self.zk.get, path)
        self.zk.remove_listener(states.append)
        same(b"acknowledged", data, "data")
        same(session_id, stat.ephemeralOwner, "owner")
        same(session_id, self.zk.client_id[0], "session id")
        assert KazooState.LOST not in states, f"the session was lost: {states}"
        self.zk.retry(self.zk.set, path, b"after", version=1)

    def restart_watches(self):
        # kazoo leaves plain watches behind with the connection; its recipe sets them anew.
        path = self.zk.create(self.root + "/rewatch", b"before")
        seen = queue.Queue()
        self.zk.DataWatch(path, lambda data, stat: seen.put(data))
        same(b"before", seen.get(timeout=5), "first sight")
        ask("restart-soft")
        self.zk.retry(self.zk.set, path, b"after")
        deadline = time.monotonic() + 10
        while seen.get(timeout=max(0.1, deadline - time.monotonic())) != b"after":
            pass

    def expiry(self):
        path = self.root + "/twin"
        ask("twin " + path)
        ear = Ear()
        assert self.zk.exists(path, watch=ear) is not None, "the twin's ephemeral is not there"
        ear.expect("DELETED", path, seconds=10)
        ask("thaw")

    def close(self):
        path = self.root + "/closing"
        ear = Ear()
        closing = open_session(self.server)
        closing.create(path, ephemeral=True)
        assert self.zk.exists(path, watch=ear) is not None, "the ephemeral is not there"
        closing.stop()
        ear.expect("DELETED", path, seconds=2)


CHECKS = [
    "connect", "create", "get-set", "exists", "children", "delete", "versions", "refusals", "acl",
    "multi", "multi-refused", "watch-data", "watch-exists", "watch-child", "sync", "restart-soft",
    "restart-hard", "restart-watches", "expiry", "close",
]
ABSENT = {
    "create-container": "kazoo cannot create containers",
    "create-ttl": "kazoo cannot create nodes with a time to live",
    "watch-persistent": "kazoo has no persistent watches",
    "watch-recursive": "kazoo has no recursive watches",
    "watch-removed": "kazoo cannot remove watches",
}


def place(error):
    """The line of this file in which the check failed."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == __file__:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"client.py:{line}"


def twin(server, path):
    """Lives only to be stopped by the harness until its session has expired."""
    client = KazooClient(hosts=server, timeout=2.0)
    lost = threading.Event()

    def listen(state):
        # LOST alone would also follow a close; the state below it names the reason.
        if state == KazooState.LOST and client.client_state == KeeperState.EXPIRED_SESSION:
            lost.set()

    client.add_listener(listen)
    client.start(timeout=10)
    client.create(path, ephemeral=True)
    say("ready")
    assert lost.wait(40), "never expired"
    say("expired")
    client.stop()


if __name__ == "__main__":
    role, server, path = sys.argv[1:]
    if role == "twin":
        twin(server, path)
    else:
        Checks(server, path).run()
