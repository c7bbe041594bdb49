/** A step of a script: what is typed, or something that happens on both servers. */
export interface Script {
  readonly name: string
  readonly lines: readonly string[]
}

function script(name: string, text: string): Script {
  const lines = text.split('\n').map((line) => line.trimStart())
  return { name, lines: lines.filter((line) => line !== '' && !line.startsWith('#')) }
}

/** Every command of zkCli.sh 3.9 with every flag, mistakes, and refusals. */
export const scripts: readonly Script[] = [
  script(
    'nodes',
    `
    create /t
    create /t again
    create /t/a data
    create /t/b "two words"
    create /t/c 'single "quoted" x'
    create -s /t/seq- v
    create -e /t/e eph
    create -s -e /t/se- x
    create -se /t/sf- x
    create -c /t/cont
    create -t 60000 /t/ttl
    create -s -t 60000 /t/sttl-
    create -e -c /t/bad
    create -t abc /t/bad
    create -c -s /t/bad
    create -t 1000 -e /t/bad
    create -t 0 /t/bad
    create -t -5 /t/bad
    create -t 99999999999999 /t/bad
    create /t/x y world:anyone:r
    create /t/y y world:anyone:r,digest:a:b:cdrwa
    create /t/y2 y badacl
    create /t/y3 y world:anyone:q
    create /t/y4 y world:anyone:cdrwa extra
    create /nope/x
    create t
    create
    create /t/
    create /t//x
    create /t/./x
    create /t/../x
    create -q /t/x
    create /t/e/child
    create /t/empty ""
    get /t/empty
    create "/with space" x
    ls "/with space"
    get '/with space'
    create /uni "käse ☃"
    get /uni
    get -b /uni
    get -x /uni
    create /uni/ä x
    ls /uni
    ls -R /uni
    get /t
    get -s /t
    get -b /t
    get -x /t
    get /t/b
    get /t/c
    get -b /t/b
    get -x /t/b
    get -b -x /t/b
    get -sw /t/b
    get /t/b -s
    get /nope
    get
    get t
    get /t /u
    get -q /t
    set /t hello
    set -s /t hello2
    set -v 5 /t x
    set -v 2 /t x
    set -v 3 -s /t y
    set /t y 1
    set /t y -v 7
    set -v -1 /t z
    set /t
    set
    set /nope x
    set -b /t AAEC
    get -x /t
    get -b /t
    set /t 0123456789abcdef0123456789abcdef01
    get -x /t
    ls /t
    ls -s /t
    ls -w /t
    ls -R /t
    ls -R -s /t
    ls -sR /t/a
    ls -s -R -w /t/a
    ls /nope
    ls -R /nope
    ls t
    ls
    ls /t watch
    ls  -q /t
    ls   /zookeeper
    stat /t
    stat /t/e
    stat /t/cont
    stat -w /t
    stat /nope
    stat
    stat -w /nope
    stat /nope watch
    getAllChildrenNumber /t
    getAllChildrenNumber /nope
    getAllChildrenNumber
    getEphemerals
    getEphemerals /
    getEphemerals /t
    getEphemerals /nope
    delete /t
    delete /nope
    delete -v 4 /t/a
    delete -v 0 /t/a
    delete -v
    delete
    delete /t/b 99
    delete /t/c 0
    deleteall /nope
    deleteall
    deleteall /uni -b 1
    deleteall /t
    ls /
    sync /
    sync
    sync /nope
    sync q
    `,
  ),
  script(
    'permissions',
    `
    create /acl x
    getAcl /acl
    getAcl -s /acl
    getAcl /nope
    getAcl
    setAcl /acl world:anyone:crwa
    getAcl /acl
    setAcl -s /acl world:anyone:cdrwa
    setAcl -v 9 /acl world:anyone:cdrwa
    setAcl -v 2 /acl world:anyone:cdrwa
    setAcl /acl bogus
    setAcl /acl world:anyone
    setAcl /acl auth::cdrwa
    setAcl
    setAcl /acl
    setAcl /nope world:anyone:r
    create /acl/k1
    create /acl/k1/k2
    setAcl -R /acl world:anyone:cdrwa
    getAcl /acl/k1/k2
    setAcl -R -s /acl world:anyone:cdrwa
    whoami
    addauth digest ann:secret
    whoami
    addauth
    setAcl /acl/k1 auth:ann:secret:cdrwa
    getAcl /acl/k1
    setAcl /acl/k1 auth::r
    getAcl /acl/k1
    setAcl /acl ip:127.0.0.1:cdrwa
    getAcl /acl
    create /acl/closed x world:anyone:a
    get /acl/closed
    ls /acl/closed
    set /acl/closed x
    create /acl/closed/x
    setAcl /acl digest:joe:abc=:r,world:anyone:cdrwa
    getAcl /acl
    create /acl/none x world:anyone:
    getAcl /acl/none
    get /acl/none
    `,
  ),
  script(
    'quotas',
    `
    create /q x
    listquota /q
    listquota /nope
    listquota
    setquota -n 3 /q
    get /zookeeper/quota/q/zookeeper_limits
    get /zookeeper/quota/q/zookeeper_stats
    setquota -b 100 /q
    setquota -N 5 /q
    setquota -B 200 /q
    listquota /q
    setquota -n x /q
    setquota -n 4 /nope
    setquota /q
    setquota -n 4
    setquota -n 0 /q
    setquota -b -2 /q
    setquota -b 0 /q
    setquota -n -1 /q
    create /q/a
    create /q/b
    create /q/c
    create /q/d
    create /q/e
    create /q/f
    listquota /q
    setquota -n 4 /q/a
    delquota -n /q
    listquota /q
    delquota -N /q
    delquota -B /q
    listquota /q
    delquota /q
    listquota /q
    ls -R /zookeeper
    delquota /q
    delquota /nope
    delquota
    delquota -b /q
    setquota -b 5 /q
    set /q aaaaaaaaaaaaaaaaaaaaaaaaaaaa
    setquota -B 5 /q
    set /q aaaaaaaaaaaaaaaaaaaaaaaaaaaa
    setquota -n 2 /q
    setquota -N 2 /q
    listquota /q
    delquota /q
    setquota -n 4 /q/a
    setquota -n 4 /q
    delquota -n -b /q
    delquota /q/a
    ls -R /zookeeper
    create /enf x
    setquota -N 2 /enf
    create /enf/a
    create /enf/b
    setquota -B 4 /enf
    set /enf 123456
    `,
  ),
  script(
    'watches',
    `
    create /w x
    addWatch /w
    create /w/a
    set /w/a 1
    set /w 1
    delete /w/a
    removewatches /w
    removewatches /w
    addWatch -m PERSISTENT /w
    create /w/b
    set /w 2
    set /w/b 2
    removewatches /w -p
    addWatch -m BOGUS /w
    addWatch
    addWatch -m PERSISTENT
    get -w /w
    set /w 3
    get -w /w
    removewatches /w -d
    ls -w /w
    create /w/c
    ls -w /w
    removewatches /w -c
    ls -w /w
    removewatches /w -a
    stat -w /w/zz
    create /w/zz
    stat -w /w/zz
    delete /w/zz
    get -w /w
    removewatches /w -d -l
    removewatches /w -l
    removewatches
    removewatches /w -x
    addWatch -m PERSISTENT_RECURSIVE /w
    removewatches /w -r
    addWatch /w
    get -w /w
    set /w 4
    removewatches /w
    printwatches
    printwatches off
    get -w /w
    set /w 5
    printwatches on
    printwatches
    printwatches x
    printwatches
    printwatches on
    get /w watch
    deleteall /w
    `,
  ),
  script(
    'sessions',
    `
    create -e /mine x
    getEphemerals
    config
    config -s
    config -c
    config -w
    reconfig
    reconfig -remove 3
    reconfig -add server.3=localhost:1:2:participant;3
    reconfig -s -remove 3
    reconfig -v 1 -remove 3
    reconfig -file /nope -remove 3
    reconfig -members server.1=a
    reconfig -file /nope
    redo 0
    redo 9999
    redo
    version
    history
    close
    ls /
    close
    whoami
    get /x
    connect 127.0.0.1:PORT
    ls /
    connect
    getEphemerals
    bogus
    `,
  ),
]

/** Each in a separate shell with its own nodes, which NAME stands for. */
export const oneShotCommands: readonly (readonly string[])[] = [
  ['create', '/NAME', 'two words'],
  ['create', '/NAME'],
  ['get', '/NAME'],
  ['get', '-s', '/NAME'],
  ['get', '-w', '/NAME'],
  ['set', '/NAME', 'other'],
  ['set', '-v', '9', '/NAME', 'other'],
  ['ls', '/zookeeper'],
  ['ls'],
  ['stat', '/nope'],
  ['get', '/nope'],
  ['getAcl', '/NAME'],
  ['setquota', '-n', '5', '/NAME'],
  ['listquota', '/NAME'],
  ['delquota', '/NAME'],
  ['create', '-e', '/NAME/e'],
  ['getEphemerals'],
  ['whoami'],
  ['sync', '/'],
  ['config'],
  ['history'],
  ['printwatches'],
  ['close'],
  ['quit'],
  ['delete', '/NAME'],
  ['delete', '/NAME'],
  ['bogus'],
]
