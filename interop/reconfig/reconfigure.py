"""Takes a member out and puts it back, with kazoo: SERVER PASSWORD ID LINE."""
import sys

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

server, password, member, line = sys.argv[1:]
client = KazooClient(hosts=server, auth_data=[("digest", password)])
client.start(timeout=15)


def change(what, **servers):
    arguments = {"joining": None, "leaving": None, "new_members": None, **servers}
    try:
        config, stat = client.reconfig(**arguments)
    except KazooException as error:
        print(f"refused: {what}: {type(error).__name__}")
        return
    text = config.decode()
    has_member = f"server.{member}=" in text
    print(f"{what}: member {has_member}, version {f'version={stat.mzxid:x}' in text}")


change("refused", leaving="x")
change("removed", leaving=member)
change("added", joining=line)
client.stop()
