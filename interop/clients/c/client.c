/* Apache's C client (multi-threaded, synchronous calls) at ordinary work. */
#define THREADED
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

static const char *server, *root;
static zhandle_t *zk;

/* ---- the conversation with the harness ---- */

static char reason[512];

static const char *why(int line, const char *format, ...) {
  int n = snprintf(reason, sizeof reason, "client.c:%d ", line);
  va_list args;
  va_start(args, format);
  vsnprintf(reason + n, sizeof reason - n, format, args);
  va_end(args);
  return reason;
}

#define NEED(condition, ...) \
  do { if (!(condition)) return why(__LINE__, __VA_ARGS__); } while (0)
#define CODE(wanted, call) \
  do { \
    int rc_ = (call); \
    NEED(rc_ == (wanted), "wanted %s, got %s: %s", zerror(wanted), zerror(rc_), #call); \
  } while (0)
#define TRY(call) \
  do { const char *failure_ = (call); if (failure_) return failure_; } while (0)

static void check(const char *name, const char *(*body)(void)) {
  const char *failure = body();
  if (failure) printf("FAIL %s %s\n", name, failure);
  else printf("ok %s\n", name);
}

static const char *ask(const char *what) {
  char answer[400] = "";
  printf("ask %s\n", what);
  if (!fgets(answer, sizeof answer, stdin)) return why(__LINE__, "the harness is gone");
  answer[strcspn(answer, "\n")] = 0;
  NEED(!strcmp(answer, "done"), "the harness answered: %s", answer);
  return NULL;
}

/* ---- sessions and events ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

typedef struct {
  int connected, expired;
} session_t;

/* The last event of a watch; the count tells whether there were more. */
typedef struct {
  int count, type;
  char path[200];
} ear_t;

static void on_session(zhandle_t *zh, int type, int state, const char *path, void *context) {
  session_t *session = context;
  pthread_mutex_lock(&lock);
  if (type == ZOO_SESSION_EVENT) {
    session->connected = state == ZOO_CONNECTED_STATE;
    if (state == ZOO_EXPIRED_SESSION_STATE) session->expired = 1;
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static void on_event(zhandle_t *zh, int type, int state, const char *path, void *context) {
  ear_t *ear = context;
  if (type == ZOO_SESSION_EVENT) return;
  pthread_mutex_lock(&lock);
  ear->count++;
  ear->type = type;
  snprintf(ear->path, sizeof ear->path, "%s", path);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static int wait_for(int *flag, int seconds) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += seconds;
  pthread_mutex_lock(&lock);
  while (!*flag && pthread_cond_timedwait(&changed, &lock, &until) != ETIMEDOUT) {}
  int set = *flag;
  pthread_mutex_unlock(&lock);
  return set;
}

static const char *expect(ear_t *ear, int type, const char *path, int seconds) {
  NEED(wait_for(&ear->count, seconds), "no event of type %d for %s within %d s", type, path, seconds);
  NEED(ear->type == type, "wanted event %d, got %d for %s", type, ear->type, ear->path);
  NEED(!strcmp(ear->path, path), "wanted an event for %s, got %s", path, ear->path);
  NEED(ear->count == 1, "%d events for %s, wanted one", ear->count, path);
  memset(ear, 0, sizeof *ear);
  return NULL;
}

static zhandle_t *open_session(session_t *session, int timeout_ms) {
  memset(session, 0, sizeof *session);
  zhandle_t *handle = zookeeper_init(server, on_session, timeout_ms, NULL, session, 0);
  if (handle && wait_for(&session->connected, 10)) return handle;
  return NULL;
}

/* ---- helpers ---- */

/* Paths below the root; several results may be in use at once. */
static const char *at(const char *rest) {
  static char paths[8][200];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s%s", root, rest);
  return path;
}

static int make(const char *path, const char *data, int mode, char *created, int size) {
  int length = data ? (int)strlen(data) : -1;
  return zoo_create(zk, path, data, length, &ZOO_OPEN_ACL_UNSAFE, mode, created, size);
}

static int plain(const char *path) {
  return make(path, "", ZOO_PERSISTENT, NULL, 0);
}

static int set(const char *path, const char *data, int version) {
  return zoo_set(zk, path, data, (int)strlen(data), version);
}

static int exists_patiently(const char *path, struct Stat *stat) {
  int rc = ZCONNECTIONLOSS;
  for (int tries = 0; tries < 300; tries++) {
    rc = zoo_exists(zk, path, 0, stat);
    if (rc != ZCONNECTIONLOSS && rc != ZOPERATIONTIMEOUT) break;
    usleep(50000);
  }
  return rc;
}

/* ---- the checks ---- */

static const char *connects(void) {
  NEED(zk, "no session within 10 s");
  NEED(zoo_client_id(zk)->client_id != 0, "session id 0");
  NEED(zoo_recv_timeout(zk) == 8000, "negotiated timeout %d", zoo_recv_timeout(zk));
  CODE(ZOK, make(root, "root", ZOO_PERSISTENT, NULL, 0));
  return NULL;
}

static const char *creates(void) {
  char name[200];
  struct Stat stat;
  CODE(ZOK, plain(at("/create")));
  CODE(ZOK, zoo_create2(zk, at("/create/plain"), "p", 1, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, name, sizeof name, &stat));
  NEED(!strcmp(name, at("/create/plain")), "created %s", name);
  NEED(stat.czxid > 0 && stat.mzxid == stat.czxid && stat.dataLength == 1, "stat of a new node");
  CODE(ZOK, make(at("/create/s-"), "", ZOO_PERSISTENT_SEQUENTIAL, name, sizeof name));
  NEED(!strcmp(name, at("/create/s-0000000001")), "created %s", name);
  CODE(ZOK, make(at("/create/s-"), "", ZOO_EPHEMERAL_SEQUENTIAL, name, sizeof name));
  NEED(!strcmp(name, at("/create/s-0000000002")), "created %s", name);
  CODE(ZOK, make(at("/create/e"), "", ZOO_EPHEMERAL, NULL, 0));
  CODE(ZOK, zoo_exists(zk, at("/create/e"), 0, &stat));
  NEED(stat.ephemeralOwner == zoo_client_id(zk)->client_id, "owner %lx", (long)stat.ephemeralOwner);
  return NULL;
}

static const char *creates_container(void) {
  CODE(ZOK, make(at("/container"), "", ZOO_CONTAINER, NULL, 0));
  CODE(ZOK, plain(at("/container/child")));
  return NULL;
}

static const char *creates_ttl(void) {
  char name[200];
  CODE(ZOK, zoo_create_ttl(zk, at("/ttl"), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT_WITH_TTL, 60000, NULL, 0));
  CODE(ZOK, zoo_create_ttl(zk, at("/ttl-"), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT_SEQUENTIAL_WITH_TTL, 60000, name, sizeof name));
  NEED(strlen(name) == strlen(at("/ttl-")) + 10, "created %s", name);
  return NULL;
}

static const char *gets_and_sets(void) {
  static char large[900000], back[900000];
  int length = sizeof back;
  struct Stat stat;
  CODE(ZOK, make(at("/data"), "one", ZOO_PERSISTENT, NULL, 0));
  CODE(ZOK, zoo_get(zk, at("/data"), 0, back, &length, &stat));
  NEED(length == 3 && !memcmp(back, "one", 3) && stat.version == 0, "%d bytes, version %d", length, stat.version);
  CODE(ZOK, zoo_set2(zk, at("/data"), "two", 3, 0, &stat));
  NEED(stat.version == 1, "version %d", stat.version);
  CODE(ZOK, zoo_set2(zk, at("/data"), "", 0, -1, &stat));
  length = sizeof back;
  CODE(ZOK, zoo_get(zk, at("/data"), 0, back, &length, &stat));
  NEED(length == 0, "%d bytes, wanted none", length);
  memset(large, 7, sizeof large);
  CODE(ZOK, zoo_set(zk, at("/data"), large, sizeof large, 2));
  length = sizeof back;
  CODE(ZOK, zoo_get(zk, at("/data"), 0, back, &length, &stat));
  NEED(length == sizeof large && !memcmp(large, back, sizeof large), "900 kB came back changed");
  CODE(ZOK, make(at("/null"), NULL, ZOO_PERSISTENT, NULL, 0));
  length = sizeof back;
  CODE(ZOK, zoo_get(zk, at("/null"), 0, back, &length, &stat));
  NEED(length == -1, "length %d of a node made without data", length);
  return NULL;
}

static const char *sees_existence(void) {
  struct Stat stat;
  CODE(ZNONODE, zoo_exists(zk, at("/nothing"), 0, &stat));
  CODE(ZOK, zoo_exists(zk, root, 0, &stat));
  return NULL;
}

static const char *lists_children(void) {
  struct String_vector names;
  struct Stat stat;
  CODE(ZOK, plain(at("/family")));
  CODE(ZOK, zoo_get_children(zk, at("/family"), 0, &names));
  NEED(names.count == 0, "%d children", names.count);
  CODE(ZOK, plain(at("/family/a")));
  CODE(ZOK, plain(at("/family/b")));
  CODE(ZOK, zoo_get_children2(zk, at("/family"), 0, &names, &stat));
  NEED(names.count == 2 && stat.numChildren == 2, "%d children", names.count);
  NEED(names.data[0][0] + names.data[1][0] == 'a' + 'b', "names %s %s", names.data[0], names.data[1]);
  deallocate_String_vector(&names);
  return NULL;
}

static const char *deletes(void) {
  CODE(ZOK, plain(at("/gone")));
  CODE(ZOK, zoo_delete(zk, at("/gone"), 0));
  CODE(ZNONODE, zoo_exists(zk, at("/gone"), 0, NULL));
  return NULL;
}

static const char *minds_versions(void) {
  CODE(ZOK, plain(at("/versions")));
  CODE(ZOK, set(at("/versions"), "x", 0));
  CODE(ZBADVERSION, set(at("/versions"), "x", 0));
  CODE(ZBADVERSION, zoo_delete(zk, at("/versions"), 0));
  CODE(ZOK, zoo_delete(zk, at("/versions"), 1));
  return NULL;
}

static const char *is_refused(void) {
  char data[10];
  int length = sizeof data;
  CODE(ZOK, plain(at("/refusals")));
  CODE(ZOK, make(at("/refusals/e"), "", ZOO_EPHEMERAL, NULL, 0));
  CODE(ZNODEEXISTS, plain(at("/refusals")));
  CODE(ZNONODE, zoo_get(zk, at("/refusals/no"), 0, data, &length, NULL));
  CODE(ZNONODE, plain(at("/refusals/no/child")));
  CODE(ZNONODE, zoo_delete(zk, at("/refusals/no"), -1));
  CODE(ZNOTEMPTY, zoo_delete(zk, at("/refusals"), -1));
  CODE(ZNOCHILDRENFOREPHEMERALS, plain(at("/refusals/e/child")));
  return NULL;
}

static void on_auth(int rc, const void *context) {
  pthread_mutex_lock(&lock);
  *(int *)context = rc == ZOK ? 1 : 2;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static const char *authenticates(zhandle_t *handle) {
  int answered = 0;
  CODE(ZOK, zoo_add_auth(handle, "digest", "ann:secret", 10, on_auth, &answered));
  NEED(wait_for(&answered, 5) == 1, "digest was not accepted");
  return NULL;
}

static const char *acl_between(zhandle_t *owner, zhandle_t *other) {
  char data[10];
  int length = sizeof data;
  struct ACL_vector acl;
  struct Stat stat;
  NEED(owner && other, "no session within 10 s");
  TRY(authenticates(owner));
  CODE(ZOK, zoo_create(owner, at("/acl"), "mine", 4, &ZOO_CREATOR_ALL_ACL, ZOO_PERSISTENT, NULL, 0));
  CODE(ZOK, zoo_get_acl(owner, at("/acl"), &acl, &stat));
  NEED(acl.count == 1 && !strcmp(acl.data[0].id.scheme, "digest"), "%d entries", acl.count);
  NEED(!strncmp(acl.data[0].id.id, "ann:", 4), "id %s", acl.data[0].id.id);
  CODE(ZNOAUTH, zoo_get(other, at("/acl"), 0, data, &length, &stat));
  CODE(ZNOAUTH, zoo_set_acl(other, at("/acl"), -1, &ZOO_OPEN_ACL_UNSAFE));
  struct ACL both[2] = {acl.data[0], {ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE}};
  struct ACL_vector readable = {2, both};
  CODE(ZOK, zoo_set_acl(owner, at("/acl"), 0, &readable));
  CODE(ZBADVERSION, zoo_set_acl(owner, at("/acl"), 0, &readable));
  CODE(ZOK, zoo_get(other, at("/acl"), 0, data, &length, &stat));
  CODE(ZNOAUTH, zoo_set(other, at("/acl"), "x", 1, -1));
  TRY(authenticates(other));
  CODE(ZOK, zoo_set(other, at("/acl"), "x", 1, -1));
  struct ACL nonsense = {ZOO_PERM_ALL, {"nonsense", "x"}};
  struct ACL_vector invalid = {1, &nonsense};
  CODE(ZINVALIDACL, zoo_set_acl(owner, at("/acl"), -1, &invalid));
  deallocate_ACL_vector(&acl);
  return NULL;
}

static const char *minds_acls(void) {
  session_t first, second;
  zhandle_t *owner = open_session(&first, 8000), *other = open_session(&second, 8000);
  const char *failure = acl_between(owner, other);
  if (owner) zookeeper_close(owner);
  if (other) zookeeper_close(other);
  return failure;
}

static const char *carries_out_multi(void) {
  zoo_op_t ops[4];
  zoo_op_result_t results[4];
  struct Stat stat;
  char name[200];
  CODE(ZOK, plain(at("/multi")));
  CODE(ZOK, plain(at("/multi/old")));
  zoo_create_op_init(&ops[0], at("/multi/new"), "n", 1, &ZOO_OPEN_ACL_UNSAFE, 0, name, sizeof name);
  zoo_set_op_init(&ops[1], at("/multi/new"), "m", 1, 0, &stat);
  zoo_check_op_init(&ops[2], at("/multi/new"), 1);
  zoo_delete_op_init(&ops[3], at("/multi/old"), -1);
  CODE(ZOK, zoo_multi(zk, 4, ops, results));
  NEED(!strcmp(name, at("/multi/new")), "created %s", name);
  NEED(stat.version == 1, "version %d", stat.version);
  CODE(ZNONODE, zoo_exists(zk, at("/multi/old"), 0, NULL));
  return NULL;
}

static const char *multi_is_refused(void) {
  zoo_op_t ops[3];
  zoo_op_result_t results[3];
  char name[200];
  CODE(ZOK, plain(at("/refused")));
  zoo_create_op_init(&ops[0], at("/refused/new"), "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, name, sizeof name);
  zoo_check_op_init(&ops[1], at("/refused"), 7);
  zoo_delete_op_init(&ops[2], at("/refused/new"), -1);
  CODE(ZBADVERSION, zoo_multi(zk, 3, ops, results));
  NEED(results[0].err == ZOK, "first result %d", results[0].err);
  NEED(results[1].err == ZBADVERSION, "second result %d", results[1].err);
  NEED(results[2].err == ZRUNTIMEINCONSISTENCY, "third result %d", results[2].err);
  CODE(ZNONODE, zoo_exists(zk, at("/refused/new"), 0, NULL));
  return NULL;
}

static const char *watches_data(void) {
  static ear_t ear;
  char data[10];
  int length = sizeof data;
  CODE(ZOK, plain(at("/watch-data")));
  CODE(ZOK, zoo_wget(zk, at("/watch-data"), on_event, &ear, data, &length, NULL));
  CODE(ZOK, set(at("/watch-data"), "1", -1));
  CODE(ZOK, set(at("/watch-data"), "2", -1));
  TRY(expect(&ear, ZOO_CHANGED_EVENT, at("/watch-data"), 5));
  length = sizeof data;
  CODE(ZOK, zoo_wget(zk, at("/watch-data"), on_event, &ear, data, &length, NULL));
  CODE(ZOK, zoo_delete(zk, at("/watch-data"), -1));
  return expect(&ear, ZOO_DELETED_EVENT, at("/watch-data"), 5);
}

static const char *watches_existence(void) {
  static ear_t ear;
  CODE(ZNONODE, zoo_wexists(zk, at("/watch-exists"), on_event, &ear, NULL));
  CODE(ZOK, plain(at("/watch-exists")));
  TRY(expect(&ear, ZOO_CREATED_EVENT, at("/watch-exists"), 5));
  CODE(ZOK, zoo_wexists(zk, at("/watch-exists"), on_event, &ear, NULL));
  CODE(ZOK, set(at("/watch-exists"), "1", -1));
  return expect(&ear, ZOO_CHANGED_EVENT, at("/watch-exists"), 5);
}

static const char *watches_children(void) {
  static ear_t ear;
  struct String_vector names;
  CODE(ZOK, plain(at("/watch-child")));
  CODE(ZOK, zoo_wget_children(zk, at("/watch-child"), on_event, &ear, &names));
  CODE(ZOK, plain(at("/watch-child/a")));
  TRY(expect(&ear, ZOO_CHILD_EVENT, at("/watch-child"), 5));
  CODE(ZOK, zoo_wget_children(zk, at("/watch-child"), on_event, &ear, &names));
  CODE(ZOK, zoo_delete(zk, at("/watch-child/a"), -1));
  return expect(&ear, ZOO_CHILD_EVENT, at("/watch-child"), 5);
}

static const char *removes_watches(void) {
  static ear_t ear, other;
  char data[10];
  int length = sizeof data;
  const char *path = at("/watch-removed");
  CODE(ZOK, plain(path));
  CODE(ZOK, zoo_wget(zk, path, on_event, &ear, data, &length, NULL));
  CODE(ZOK, zoo_remove_watches(zk, path, ZWATCHTYPE_DATA, on_event, &ear, 0));
  /* The client tells the watcher that it was removed; that is not an event of the node. */
  memset(&ear, 0, sizeof ear);
  length = sizeof data;
  CODE(ZOK, set(path, "1", -1));
  CODE(ZOK, zoo_wget(zk, path, on_event, &other, data, &length, NULL));
  CODE(ZOK, set(path, "2", -1));
  TRY(expect(&other, ZOO_CHANGED_EVENT, path, 5));
  NEED(ear.count == 0 || ear.type != ZOO_CHANGED_EVENT, "the removed watch fired");
  CODE(ZNOWATCHER, zoo_remove_watches(zk, path, ZWATCHTYPE_DATA, on_event, &ear, 0));
  return NULL;
}

static void on_sync(int rc, const char *value, const void *context) {
  on_auth(rc, context);
}

static const char *syncs(void) {
  int answered = 0;
  CODE(ZOK, zoo_async(zk, root, on_sync, &answered));
  NEED(wait_for(&answered, 5) == 1, "sync was not answered with ok");
  return NULL;
}

static const char *survives(const char *how) {
  struct Stat stat;
  char path[200], data[20];
  int length = sizeof data;
  int64_t id = zoo_client_id(zk)->client_id;
  snprintf(path, sizeof path, "%s/%s", root, how);
  CODE(ZOK, make(path, "first", ZOO_EPHEMERAL, NULL, 0));
  CODE(ZOK, set(path, "acknowledged", -1));
  TRY(ask(how));
  CODE(ZOK, exists_patiently(path, &stat));
  NEED(stat.ephemeralOwner == id, "owner %lx, was %lx", (long)stat.ephemeralOwner, (long)id);
  NEED(zoo_client_id(zk)->client_id == id, "another session id");
  CODE(ZOK, zoo_get(zk, path, 0, data, &length, NULL));
  NEED(length == 12 && !memcmp(data, "acknowledged", 12), "data was lost");
  CODE(ZOK, set(path, "after", 1));
  return NULL;
}

static const char *survives_soft(void) { return survives("restart-soft"); }
static const char *survives_hard(void) { return survives("restart-hard"); }

static const char *keeps_watches(void) {
  static ear_t data_ear, created, child;
  struct String_vector names;
  char data[10];
  int length = sizeof data;
  const char *path = at("/rewatch"), *below = at("/rewatch/a");
  CODE(ZOK, plain(path));
  CODE(ZOK, zoo_wget(zk, path, on_event, &data_ear, data, &length, NULL));
  CODE(ZNONODE, zoo_wexists(zk, below, on_event, &created, NULL));
  CODE(ZOK, zoo_wget_children(zk, path, on_event, &child, &names));
  TRY(ask("restart-soft"));
  CODE(ZOK, exists_patiently(path, NULL));
  CODE(ZOK, set(path, "x", -1));
  CODE(ZOK, plain(below));
  TRY(expect(&data_ear, ZOO_CHANGED_EVENT, path, 5));
  TRY(expect(&created, ZOO_CREATED_EVENT, below, 5));
  return expect(&child, ZOO_CHILD_EVENT, path, 5);
}

static const char *sees_expiry(void) {
  static ear_t ear;
  char wish[220];
  const char *path = at("/twin");
  snprintf(wish, sizeof wish, "twin %s", path);
  TRY(ask(wish));
  CODE(ZOK, zoo_wexists(zk, path, on_event, &ear, NULL));
  TRY(expect(&ear, ZOO_DELETED_EVENT, path, 10));
  return ask("thaw");
}

static const char *closes(void) {
  static ear_t ear;
  session_t session;
  const char *path = at("/closing");
  zhandle_t *closing = open_session(&session, 8000);
  NEED(closing, "no session within 10 s");
  CODE(ZOK, zoo_create(closing, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, NULL, 0));
  CODE(ZOK, zoo_wexists(zk, path, on_event, &ear, NULL));
  CODE(ZOK, zookeeper_close(closing));
  return expect(&ear, ZOO_DELETED_EVENT, path, 2);
}

/* Runs only to be stopped by the harness until its session has expired. */
static int twin(const char *path) {
  session_t session;
  zk = open_session(&session, 2000);
  if (!zk || make(path, "", ZOO_EPHEMERAL, NULL, 0) != ZOK) return 1;
  printf("ready\n");
  if (!wait_for(&session.expired, 40)) return 1;
  printf("expired\n");
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  session_t session;
  setvbuf(stdout, NULL, _IOLBF, 0);
  zoo_set_debug_level(0);
  server = argv[2];
  root = argv[3];
  if (!strcmp(argv[1], "twin")) return twin(argv[3]);
  zk = open_session(&session, 8000);
  check("connect", connects);
  if (!zk) return 1;
  check("create", creates);
  check("create-container", creates_container);
  check("create-ttl", creates_ttl);
  check("get-set", gets_and_sets);
  check("exists", sees_existence);
  check("children", lists_children);
  check("delete", deletes);
  check("versions", minds_versions);
  check("refusals", is_refused);
  check("acl", minds_acls);
  check("multi", carries_out_multi);
  check("multi-refused", multi_is_refused);
  check("watch-data", watches_data);
  check("watch-exists", watches_existence);
  check("watch-child", watches_children);
  printf("absent watch-persistent the C client has no persistent watches\n");
  printf("absent watch-recursive the C client has no recursive watches\n");
  check("watch-removed", removes_watches);
  check("sync", syncs);
  check("restart-soft", survives_soft);
  check("restart-hard", survives_hard);
  check("restart-watches", keeps_watches);
  check("expiry", sees_expiry);
  check("close", closes);
  zookeeper_close(zk);
  return 0;
}
