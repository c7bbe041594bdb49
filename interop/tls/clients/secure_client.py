"""The same with kazoo: the settings come as JSON."""
import json
import logging
import sys
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import InvalidACLError
from kazoo.security import ACL, CREATOR_ALL_ACL, Id

logging.disable(logging.CRITICAL)
hosts, path, patience, options = sys.argv[1], sys.argv[2], int(sys.argv[3]) / 1000, json.loads(sys.argv[4])
client = KazooClient(hosts=hosts, timeout=10, **options)
try:
    client.start(timeout=patience)
except Exception:
    print("refused")
    sys.exit(0)
try:
    data = b"\x07" * 700000
    acl = "none"
    try:
        client.create(path, data, acl=CREATOR_ALL_ACL)
        acl = " ".join(sorted("%s:%s" % (each.id.scheme, each.id.id) for each in client.get_acls(path)[0]))
    except InvalidACLError:
        client.create(path, data)
    print("acl " + acl)
    changed = threading.Event()
    read, _ = client.get(path, watch=lambda event: changed.set())
    print("data " + str(read == data).lower())
    client.set(path, b"")
    print("watch " + str(changed.wait(10)).lower())
    client.delete(path)
    client.stop()
    client.close()
    print("closed")
except Exception:
    print("refused")
