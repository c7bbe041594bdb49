// go-zookeeper, the Go client, at its ordinary work.
package main

import (
	"bytes"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	soon    = 5 * time.Second
	timeout = 8 * time.Second
)

var (
	everyone = zk.WorldACL(zk.PermAll)
	server   string
	root     string
	conn     *zk.Conn
)

func main() {
	role := os.Args[1]
	server, root = os.Args[2], os.Args[3]
	if role == "twin" {
		twin(root)
		return
	}
	check("connect", connect)
	if conn == nil {
		os.Exit(1)
	}
	check("create", create)
	check("create-container", createContainer)
	check("create-ttl", createTTL)
	check("get-set", getSet)
	check("exists", exists)
	check("children", children)
	check("delete", remove)
	check("versions", versions)
	check("refusals", refusals)
	check("acl", acl)
	check("multi", multi)
	check("multi-refused", multiRefused)
	check("watch-data", watchData)
	check("watch-exists", watchExists)
	check("watch-child", watchChild)
	absent("watch-persistent", "go-zookeeper has no persistent watches")
	absent("watch-recursive", "go-zookeeper has no recursive watches")
	absent("watch-removed", "go-zookeeper cannot remove watches")
	check("sync", sync)
	check("restart-soft", func() { restart("restart-soft") })
	check("restart-hard", func() { restart("restart-hard") })
	check("restart-watches", restartWatches)
	check("expiry", expiry)
	check("close", closing)
	conn.Close()
}

// twin lives only to be stopped by the harness until its session has expired.
func twin(path string) {
	conn, events := open(server, 2*time.Second)
	must(conn.Create(path, nil, zk.FlagEphemeral, everyone))
	fmt.Println("ready")
	await(events, zk.StateExpired, 40*time.Second)
	fmt.Println("expired")
}

func connect() {
	conn, _ = open(server, timeout)
	need(conn.SessionID() != 0, "session id 0")
	put(root, "root", zk.FlagPersistent)
}

func create() {
	base := put(root+"/create", "", zk.FlagPersistent)
	same(base+"/plain", put(base+"/plain", "p", zk.FlagPersistent), "path")
	same(base+"/s-0000000001", put(base+"/s-", "", zk.FlagSequence), "name")
	same(base+"/s-0000000002", put(base+"/s-", "", zk.FlagEphemeralSequential), "name")
	put(base+"/e", "", zk.FlagEphemeral)
	same(conn.SessionID(), stat(base+"/e").EphemeralOwner, "owner")
	protected := must(conn.CreateProtectedEphemeralSequential(base+"/p-", nil, everyone))
	need(strings.HasPrefix(protected, base+"/_c_"), "protected name %s", protected)
}

func createContainer() {
	path := must(conn.CreateContainer(root+"/container", nil, zk.FlagContainer, everyone))
	put(path+"/child", "", zk.FlagPersistent)
	same(0, stat(path).EphemeralOwner, "owner of a container")
}

func createTTL() {
	must(conn.CreateTTL(root+"/ttl", nil, zk.FlagTTL, everyone, time.Minute))
	flag := int32(zk.FlagPersistentSequentialWithTTL)
	name := must(conn.CreateTTL(root+"/ttl-", nil, flag, everyone, time.Minute))
	same(len(root+"/ttl-")+10, len(name), "length of the name")
}

func getSet() {
	path := put(root+"/data", "one", zk.FlagPersistent)
	data, before, err := conn.Get(path)
	fine(err)
	same("one", string(data), "data")
	same(0, before.Version, "version")
	same(1, must(conn.Set(path, []byte("two"), 0)).Version, "version")
	same(2, must(conn.Set(path, []byte{}, -1)).Version, "version")
	data, _, err = conn.Get(path)
	fine(err)
	same(0, len(data), "length of empty data")
	large := bytes.Repeat([]byte{7}, 900_000)
	must(conn.Set(path, large, 2))
	data, _, err = conn.Get(path)
	fine(err)
	need(bytes.Equal(large, data), "900 kB came back changed")
}

func exists() {
	there, _, err := conn.Exists(root + "/nothing")
	fine(err)
	same(false, there, "existence of nothing")
	stat(root)
}

func children() {
	base := put(root+"/family", "", zk.FlagPersistent)
	for _, name := range []string{"a", "b", "ü"} {
		put(base+"/"+name, "", zk.FlagPersistent)
	}
	names, parent, err := conn.Children(base)
	fine(err)
	sort.Strings(names)
	same("a b ü", strings.Join(names, " "), "children")
	same(3, parent.NumChildren, "number of children")
}

func remove() {
	path := put(root+"/gone", "", zk.FlagPersistent)
	fine(conn.Delete(path, 0))
	there, _, err := conn.Exists(path)
	fine(err)
	same(false, there, "existence of a deleted node")
}

func versions() {
	path := put(root+"/versions", "", zk.FlagPersistent)
	must(conn.Set(path, nil, 0))
	_, err := conn.Set(path, nil, 0)
	refused(zk.ErrBadVersion, err)
	refused(zk.ErrBadVersion, conn.Delete(path, 0))
	fine(conn.Delete(path, 1))
}

func refusals() {
	path := put(root+"/refusals", "", zk.FlagPersistent)
	put(path+"/e", "", zk.FlagEphemeral)
	tryCreate := func(path string) error {
		_, err := conn.Create(path, nil, zk.FlagPersistent, everyone)
		return err
	}
	refused(zk.ErrNodeExists, tryCreate(path))
	_, _, err := conn.Get(path + "/no")
	refused(zk.ErrNoNode, err)
	refused(zk.ErrNoNode, tryCreate(path+"/no/child"))
	refused(zk.ErrNoNode, conn.Delete(path+"/no", -1))
	refused(zk.ErrNotEmpty, conn.Delete(path, -1))
	refused(zk.ErrNoChildrenForEphemerals, tryCreate(path+"/e/child"))
}

func acl() {
	owner, _ := open(server, timeout)
	defer owner.Close()
	other, _ := open(server, timeout)
	defer other.Close()
	fine(owner.AddAuth("digest", []byte("ann:secret")))
	path := must(owner.Create(root+"/acl", []byte("mine"), zk.FlagPersistent, zk.AuthACL(zk.PermAll)))
	entries, before, err := owner.GetACL(path)
	fine(err)
	same(zk.DigestACL(zk.PermAll, "ann", "secret")[0], entries[0], "entry")
	_, _, err = other.Get(path)
	refused(zk.ErrNoAuth, err)
	_, err = other.SetACL(path, everyone, -1)
	refused(zk.ErrNoAuth, err)
	readable := append(entries, zk.WorldACL(zk.PermRead)...)
	same(1, must(owner.SetACL(path, readable, before.Aversion)).Aversion, "aversion")
	_, err = owner.SetACL(path, readable, 0)
	refused(zk.ErrBadVersion, err)
	_, _, err = other.Get(path)
	fine(err)
	_, err = other.Set(path, nil, -1)
	refused(zk.ErrNoAuth, err)
	fine(other.AddAuth("digest", []byte("ann:secret")))
	must(other.Set(path, nil, -1))
	_, err = owner.SetACL(path, []zk.ACL{{Perms: zk.PermAll, Scheme: "nonsense", ID: "x"}}, -1)
	refused(zk.ErrInvalidACL, err)
}

func multi() {
	base := put(root+"/multi", "", zk.FlagPersistent)
	put(base+"/old", "", zk.FlagPersistent)
	results := must(conn.Multi(
		&zk.CreateRequest{Path: base + "/new", Data: []byte("n"), Acl: everyone},
		&zk.SetDataRequest{Path: base + "/new", Data: []byte("m"), Version: 0},
		&zk.CheckVersionRequest{Path: base + "/new", Version: 1},
		&zk.DeleteRequest{Path: base + "/old", Version: -1},
	))
	same(4, len(results), "results")
	same(base+"/new", results[0].String, "created")
	same(1, results[1].Stat.Version, "version")
	there, _, err := conn.Exists(base + "/old")
	fine(err)
	same(false, there, "existence of what the transaction deleted")
}

func multiRefused() {
	base := put(root+"/refused", "", zk.FlagPersistent)
	results, err := conn.Multi(
		&zk.CreateRequest{Path: base + "/new", Acl: everyone},
		&zk.CheckVersionRequest{Path: base, Version: 7},
		&zk.DeleteRequest{Path: base + "/new", Version: -1},
	)
	refused(zk.ErrBadVersion, err)
	same(3, len(results), "results")
	refused(zk.ErrBadVersion, results[1].Error)
	same(0, stat(base).NumChildren, "children after a refused transaction")
}

func watchData() {
	path := put(root+"/watch-data", "", zk.FlagPersistent)
	_, _, ear, err := conn.GetW(path)
	fine(err)
	must(conn.Set(path, []byte("1"), -1))
	expect(ear, zk.EventNodeDataChanged, path, soon)
	_, _, ear, err = conn.GetW(path)
	fine(err)
	fine(conn.Delete(path, -1))
	expect(ear, zk.EventNodeDeleted, path, soon)
}

func watchExists() {
	path := root + "/watch-exists"
	_, _, ear, err := conn.ExistsW(path)
	fine(err)
	put(path, "", zk.FlagPersistent)
	expect(ear, zk.EventNodeCreated, path, soon)
	_, _, ear, err = conn.ExistsW(path)
	fine(err)
	must(conn.Set(path, nil, -1))
	expect(ear, zk.EventNodeDataChanged, path, soon)
}

func watchChild() {
	path := put(root+"/watch-child", "", zk.FlagPersistent)
	_, _, ear, err := conn.ChildrenW(path)
	fine(err)
	put(path+"/a", "", zk.FlagPersistent)
	expect(ear, zk.EventNodeChildrenChanged, path, soon)
	_, _, ear, err = conn.ChildrenW(path)
	fine(err)
	fine(conn.Delete(path+"/a", -1))
	expect(ear, zk.EventNodeChildrenChanged, path, soon)
}

func sync() {
	same(root, must(conn.Sync(root)), "path")
}

func restart(how string) {
	path := put(root+"/"+how, "first", zk.FlagEphemeral)
	must(conn.Set(path, []byte("acknowledged"), -1))
	id := conn.SessionID()
	ask(how)
	var after *zk.Stat
	data := patiently(func() (data []byte, err error) {
		data, after, err = conn.Get(path)
		return data, err
	})
	same("acknowledged", string(data), "data")
	same(id, after.EphemeralOwner, "owner")
	same(id, conn.SessionID(), "session id")
	patiently(func() (*zk.Stat, error) { return conn.Set(path, []byte("after"), 1) })
}

func restartWatches() {
	path := put(root+"/rewatch", "", zk.FlagPersistent)
	_, _, data, err := conn.GetW(path)
	fine(err)
	_, _, created, err := conn.ExistsW(path + "/a")
	fine(err)
	_, _, child, err := conn.ChildrenW(path)
	fine(err)
	ask("restart-soft")
	patiently(func() (*zk.Stat, error) { return conn.Set(path, []byte("x"), -1) })
	put(path+"/a", "", zk.FlagPersistent)
	expect(data, zk.EventNodeDataChanged, path, soon)
	expect(created, zk.EventNodeCreated, path+"/a", soon)
	expect(child, zk.EventNodeChildrenChanged, path, soon)
}

func expiry() {
	path := root + "/twin"
	ask("twin " + path)
	there, _, ear, err := conn.ExistsW(path)
	fine(err)
	need(there, "the twin's ephemeral is not there")
	expect(ear, zk.EventNodeDeleted, path, 10*time.Second)
	ask("thaw")
}

func closing() {
	path := root + "/closing"
	other, _ := open(server, timeout)
	must(other.Create(path, nil, zk.FlagEphemeral, everyone))
	there, _, ear, err := conn.ExistsW(path)
	fine(err)
	need(there, "the ephemeral is not there")
	other.Close()
	expect(ear, zk.EventNodeDeleted, path, 2*time.Second)
}

func put(path, data string, flags int32) string {
	return must(conn.Create(path, []byte(data), flags, everyone))
}

func stat(path string) *zk.Stat {
	there, found, err := conn.Exists(path)
	fine(err)
	need(there, "%s is not there", path)
	return found
}
