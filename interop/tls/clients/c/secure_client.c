/* The same with Apache's C client: hosts, path, patience in ms, then --tls CA,CERT,KEY or --sasl USER PASSWORD-FILE. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zookeeper.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t happened = PTHREAD_COND_INITIALIZER;
static int is_connected, is_refused, is_changed;

static void watcher(zhandle_t *zh, int type, int state, const char *path, void *context) {
  (void)zh; (void)path; (void)context;
  pthread_mutex_lock(&lock);
  if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE) is_connected = 1;
  if (type == ZOO_SESSION_EVENT && (state == ZOO_AUTH_FAILED_STATE || state == ZOO_EXPIRED_SESSION_STATE)) is_refused = 1;
  if (type == ZOO_CHANGED_EVENT) is_changed = 1;
  pthread_cond_broadcast(&happened);
  pthread_mutex_unlock(&lock);
}

/* Waits until `flag` or the refusal is set, up to this time; returns the flag. */
static int await(const int *flag, long ms) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += ms % 1000 * 1000000;
  if (until.tv_nsec >= 1000000000) { until.tv_sec++; until.tv_nsec -= 1000000000; }
  pthread_mutex_lock(&lock);
  while (!*flag && !is_refused && !pthread_cond_timedwait(&happened, &lock, &until)) ;
  int is_set = *flag;
  pthread_mutex_unlock(&lock);
  return is_set;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void print_acl(struct ACL_vector *acl) {
  char *ids[16];
  int n = acl->count < 16 ? acl->count : 16;
  for (int i = 0; i < n; i++) {
    ids[i] = malloc(300);
    snprintf(ids[i], 300, "%s:%s", acl->data[i].id.scheme, acl->data[i].id.id);
  }
  qsort(ids, (size_t)n, sizeof *ids, by_text);
  printf("acl");
  for (int i = 0; i < n; i++) printf(" %s", ids[i]);
  printf("\n");
}

static int refuse(void) { puts("refused"); return 0; }

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const char *hosts = argv[1], *path = argv[2];
  long patience = atol(argv[3]);
  zoo_set_debug_level(0);
  /* A server that refuses a certificate closes the connection while the client writes. */
  signal(SIGPIPE, SIG_IGN);
  zhandle_t *zh = NULL;
  if (argc > 5 && !strcmp(argv[4], "--tls")) zh = zookeeper_init_ssl(hosts, argv[5], watcher, 10000, NULL, NULL, 0);
  else if (argc > 6 && !strcmp(argv[4], "--sasl")) {
    if (sasl_client_init(NULL) != SASL_OK) return 3;
    zoo_sasl_params_t params = { "zookeeper", "zk-sasl-md5", "DIGEST-MD5", zoo_sasl_make_basic_callbacks(argv[5], NULL, argv[6]) };
    zh = zookeeper_init_sasl(hosts, watcher, 10000, NULL, NULL, 0, NULL, &params);
  } else zh = zookeeper_init(hosts, watcher, 10000, NULL, NULL, 0);
  if (!zh || !await(&is_connected, patience) || is_refused) return refuse();

  static char data[700000], read[700000];
  memset(data, 7, sizeof data);
  int rc = zoo_create(zh, path, data, sizeof data, &ZOO_CREATOR_ALL_ACL, 0, NULL, 0);
  int has_identity = rc != ZINVALIDACL;
  if (!has_identity) rc = zoo_create(zh, path, data, sizeof data, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
  if (rc != ZOK) return refuse();
  if (has_identity) {
    struct ACL_vector acl;
    struct Stat stat;
    if (zoo_get_acl(zh, path, &acl, &stat) != ZOK) return refuse();
    print_acl(&acl);
  } else puts("acl none");
  int length = sizeof read;
  if (zoo_get(zh, path, 1, read, &length, NULL) != ZOK) return refuse();
  printf("data %s\n", length == (int)sizeof data && !memcmp(read, data, sizeof data) ? "true" : "false");
  zoo_set(zh, path, "", 0, -1);
  printf("watch %s\n", await(&is_changed, 10000) ? "true" : "false");
  zoo_delete(zh, path, -1);
  zookeeper_close(zh);
  puts("closed");
  return 0;
}
