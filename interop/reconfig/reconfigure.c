/* Removes a member and adds it again, with Apache's C client: SERVER PASSWORD ID LINE. */
#define THREADED
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

static zhandle_t *zk;

static void change(const char *what, const char *member, const char *joining, const char *leaving) {
  char config[4096], own[32], version[64];
  int length = sizeof config - 1;
  struct Stat stat;
  int rc = zoo_reconfig(zk, joining, leaving, NULL, -1, config, &length, &stat);
  if (rc != ZOK) {
    printf("refused: %s: %s\n", what, zerror(rc));
    return;
  }
  config[length < 0 ? 0 : length] = 0;
  snprintf(own, sizeof own, "server.%s=", member);
  snprintf(version, sizeof version, "version=%llx", (long long)stat.mzxid);
  printf("%s: member %s, version %s\n", what, strstr(config, own) ? "True" : "False",
         strstr(config, version) ? "True" : "False");
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  zk = zookeeper_init(argv[1], NULL, 15000, NULL, NULL, 0);
  for (int i = 0; i < 150 && zoo_state(zk) != ZOO_CONNECTED_STATE; i++) usleep(100000);
  if (zoo_state(zk) != ZOO_CONNECTED_STATE) return 1;
  zoo_add_auth(zk, "digest", argv[2], strlen(argv[2]), NULL, NULL);
  change("refused", argv[3], NULL, "x");
  change("removed", argv[3], NULL, argv[3]);
  change("added", argv[3], argv[4], NULL);
  zookeeper_close(zk);
  return 0;
}
