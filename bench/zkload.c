/* zkload - raw ZooKeeper-protocol load generator.
 *
 * One thread, epoll, no dependencies but OpenSSL where it is compiled with
 * -DZKLOAD_TLS.  Speaks the client protocol directly so
 * that it costs far less than any server it measures.  Checks every reply
 * (xid order, zxid never going back, err == 0, reply length, data length, data
 * bytes, stat.dataLength, created path, child count) and prints one JSON line.
 *
 * Run it without arguments for its modes and options; zkload.ts builds and calls it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef ZKLOAD_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#endif

enum {
  OP_CREATE = 1, OP_DELETE = 2, OP_EXISTS = 3, OP_GET = 4, OP_SET = 5,
  OP_CHILDREN = 8, OP_SYNC = 9, OP_PING = 11, OP_ADDWATCH = 106, OP_CLOSE = -11
};
enum { ZOK = 0, ZNONODE = -101, ZNODEEXISTS = -110 };
enum { S_DOWN, S_CONNECTING, S_TLS, S_HANDSHAKE, S_READY, S_DEAD };
#define STAT_LEN 68

/* ------------------------------------------------------------------ time */
static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}
static double epoch_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
#define SEC 1000000000ull
#define MS 1000000ull

/* ------------------------------------------------------------- histogram */
#define HSUB 6
struct hist {
  uint64_t n, max;
  double sum;
  uint64_t b[64 << HSUB];
};
static void h_add(struct hist *h, uint64_t v) {
  unsigned i;
  if (v < (1u << HSUB)) i = (unsigned)v;
  else {
    unsigned e = 63u - (unsigned)__builtin_clzll(v), s = e - HSUB;
    i = ((s + 1) << HSUB) + (unsigned)((v >> s) & ((1u << HSUB) - 1));
  }
  h->b[i]++;
  h->n++;
  h->sum += (double)v;
  if (v > h->max) h->max = v;
}
static double h_q(const struct hist *h, double q) {
  if (!h->n) return 0;
  uint64_t want = (uint64_t)(q * (double)h->n), acc = 0;
  if (want >= h->n) want = h->n - 1;
  for (unsigned i = 0; i < (64u << HSUB); i++) {
    acc += h->b[i];
    if (acc > want) {
      if (i < (1u << HSUB)) return i;
      unsigned s = (i >> HSUB) - 1;
      uint64_t lo = ((uint64_t)((1u << HSUB) + (i & ((1u << HSUB) - 1)))) << s;
      double v = (double)lo + (double)(1ull << s) / 2;
      return v > (double)h->max ? (double)h->max : v;
    }
  }
  return (double)h->max;
}
static void h_json(const char *name, const struct hist *h) {
  printf(",\"%s\":{\"n\":%" PRIu64 ",\"mean\":%.1f,\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,\"p999\":%.1f,\"max\":%.1f}",
         name, h->n, h->n ? h->sum / (double)h->n / 1e3 : 0.0, h_q(h, .5) / 1e3, h_q(h, .9) / 1e3,
         h_q(h, .99) / 1e3, h_q(h, .999) / 1e3, (double)h->max / 1e3);
}

/* --------------------------------------------------------------- options */
static struct {
  const char *mode, *hosts, *base, *label;
  int conns, pipeline, size, nodes, treedepth, fanout, parallel, stimeout, validate, setup, cleanup, persistent, flags, tls;
  double duration, warmup, rate, maxtime;
  int w_get, w_set, w_exists, w_children, w_createdel, w_create;
} O = {
  .mode = "throughput", .hosts = "127.0.0.1:2181", .base = "/zkload", .label = "",
  .conns = 16, .pipeline = 16, .size = 100, .nodes = 1000, .treedepth = 1, .fanout = 1000, .parallel = 256,
  .stimeout = 30000, .validate = 1, .setup = 1, .duration = 5, .warmup = 1, .w_get = 100,
};

struct host { struct sockaddr_in sa; } H[64];
static int nH;

/* ------------------------------------------------------------ connection */
struct op { int type; uint32_t idx; uint64_t t, aux; };
struct conn {
  int fd, state, host, id, want_out, pend_ping;
  uint8_t *lb; uint32_t ln, lcap;            /* left-over (partial) input */
  uint8_t *ob; uint32_t oh, ot, ocap;        /* output */
  struct op *ring; uint32_t rh, rt, rmask;   /* outstanding requests, FIFO */
  int32_t xid_next, xid_expect, timeout_ms;
  int64_t sid, last_zxid;
  uint8_t pw[16];
  uint64_t t_send, t_conn, t_ping, t_retry, t_ack, seq, acked, maxgap, rounds;
  int flag;
#ifdef ZKLOAD_TLS
  SSL *ssl;
#endif
};
static struct conn *C;
static int nC, ep, nready, ndead, stopping;
static volatile sig_atomic_t interrupted;

static uint64_t n_err, n_proto, n_zxid_back, n_drop, n_unexpected, n_connfail, n_expired, bytes_in, bytes_out, n_syscalls;
static uint64_t errcode[300];
static char first_problem[200];
static void problem(const char *fmt, ...) {
  if (first_problem[0]) return;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(first_problem, sizeof first_problem, fmt, ap);
  va_end(ap);
  for (char *p = first_problem; *p; p++) if (*p == '"' || *p == '\\' || (unsigned char)*p < 32) *p = '\'';
}

static void (*on_ready)(struct conn *, uint64_t);
static void (*on_reply)(struct conn *, struct op *, int err, const uint8_t *b, int n, uint64_t);
static void (*on_notify)(struct conn *, int type, const uint8_t *path, int n, uint64_t);
static void (*on_down)(struct conn *, uint64_t);
static int (*gen)(struct conn *, uint64_t);   /* emit one request; 0 = nothing to send */
static uint32_t outst_limit;

static inline uint32_t r32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline uint64_t r64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return __builtin_bswap64(v); }
static inline void w32(uint8_t *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }
static inline void w64(uint8_t *p, uint64_t v) { v = __builtin_bswap64(v); memcpy(p, &v, 8); }

static uint8_t *out_room(struct conn *c, uint32_t need) {
  if (c->oh == c->ot) c->oh = c->ot = 0;
  if (c->ot + need > c->ocap) {
    if (c->oh) { memmove(c->ob, c->ob + c->oh, c->ot - c->oh); c->ot -= c->oh; c->oh = 0; }
    while (c->ot + need > c->ocap) c->ocap = c->ocap ? c->ocap * 2 : 512;
    c->ob = realloc(c->ob, c->ocap);
    if (!c->ob) { fprintf(stderr, "out of memory\n"); exit(2); }
  }
  return c->ob + c->ot;
}
static inline uint32_t outstanding(const struct conn *c) { return c->rt - c->rh; }
static void ring_push(struct conn *c, int type, uint32_t idx, uint64_t t, uint64_t aux) {
  if (!c->ring || outstanding(c) > c->rmask) {
    uint32_t cap = c->ring ? (c->rmask + 1) * 2 : 4;
    struct op *r = malloc(cap * sizeof *r);
    for (uint32_t i = c->rh; i != c->rt; i++) r[i & (cap - 1)] = c->ring[i & c->rmask];
    free(c->ring);
    c->ring = r;
    c->rmask = cap - 1;
  }
  c->ring[c->rt++ & c->rmask] = (struct op){ type, idx, t, aux };
}

/* ----------------------------------------------------------------- paths */
static char prefix[1024];
static int prefix_len;
static inline int digits(char *p, uint32_t v, int w) {
  for (int i = w - 1; i >= 0; i--) { p[i] = (char)('0' + v % 10); v /= 10; }
  return w;
}
static int dir_path(char *p, uint32_t k) {
  memcpy(p, prefix, (size_t)prefix_len);
  int n = prefix_len;
  p[n++] = '/'; p[n++] = 'b';
  return n + digits(p + n, k, 5);
}
static int leaf_path(char *p, uint32_t i) {
  int n = dir_path(p, i / (uint32_t)O.fanout);
  p[n++] = '/'; p[n++] = 'n';
  return n + digits(p + n, i, 8);
}
static int own_path(char *p, char kind, const struct conn *c, uint64_t seq) {
  memcpy(p, prefix, (size_t)prefix_len);
  int n = prefix_len;
  p[n++] = '/'; p[n++] = kind;
  n += digits(p + n, (uint32_t)c->id, 5);
  if (kind == 'f') return n;
  p[n++] = '-';
  return n + digits(p + n, (uint32_t)seq, 9);
}

/* -------------------------------------------------------------- requests */
static uint8_t *pattern;
static void req_begin(struct conn *c, int type, uint32_t body, uint8_t **pp) {
  uint8_t *p = out_room(c, 12 + body);
  w32(p, 8 + body);
  w32(p + 4, (uint32_t)c->xid_next++);
  w32(p + 8, (uint32_t)type);
  *pp = p + 12;
  c->ot += 12 + body;
}
static inline uint8_t *put_str(uint8_t *p, const char *s, uint32_t n) {
  w32(p, n);
  memcpy(p + 4, s, n);
  return p + 4 + n;
}
static inline uint8_t *put_data(uint8_t *p, uint64_t counter) {
  w32(p, (uint32_t)O.size);
  memcpy(p + 4, pattern, (size_t)O.size);
  if (O.size >= 8) w64(p + 4, counter);
  return p + 4 + O.size;
}
static void rq_path_flag(struct conn *c, int type, const char *path, int pl, int watch, uint32_t idx, uint64_t t, uint64_t aux) {
  uint8_t *p;
  req_begin(c, type, (uint32_t)(4 + pl + 1), &p);
  p = put_str(p, path, (uint32_t)pl);
  *p = (uint8_t)watch;
  ring_push(c, type, idx, t, aux);
}
static void rq_set(struct conn *c, const char *path, int pl, uint64_t counter, uint32_t idx, uint64_t t, uint64_t aux) {
  uint8_t *p;
  req_begin(c, OP_SET, (uint32_t)(4 + pl + 4 + O.size + 4), &p);
  p = put_str(p, path, (uint32_t)pl);
  p = put_data(p, counter);
  w32(p, (uint32_t)-1);
  ring_push(c, OP_SET, idx, t, aux);
}
static void rq_create(struct conn *c, const char *path, int pl, int withdata, int flags, uint64_t counter, uint32_t idx, uint64_t t, uint64_t aux) {
  uint8_t *p;
  uint32_t dl = withdata ? (uint32_t)O.size : 0;
  req_begin(c, OP_CREATE, (uint32_t)(4 + pl) + 4 + dl + 4 + 4 + 4 + 5 + 4 + 6 + 4, &p);
  p = put_str(p, path, (uint32_t)pl);
  if (withdata) p = put_data(p, counter);
  else { w32(p, 0); p += 4; }
  w32(p, 1); w32(p + 4, 31);
  p = put_str(p + 8, "world", 5);
  p = put_str(p, "anyone", 6);
  w32(p, (uint32_t)flags);
  ring_push(c, OP_CREATE, idx, t, aux);
}
static void rq_delete(struct conn *c, const char *path, int pl, uint32_t idx, uint64_t t, uint64_t aux) {
  uint8_t *p;
  req_begin(c, OP_DELETE, (uint32_t)(4 + pl + 4), &p);
  p = put_str(p, path, (uint32_t)pl);
  w32(p, (uint32_t)-1);
  ring_push(c, OP_DELETE, idx, t, aux);
}
static void rq_sync(struct conn *c, uint64_t t) {
  uint8_t *p;
  req_begin(c, OP_SYNC, (uint32_t)(4 + prefix_len), &p);
  put_str(p, prefix, (uint32_t)prefix_len);
  ring_push(c, OP_SYNC, 0, t, 0);
}
static void rq_addwatch(struct conn *c, const char *path, int pl, uint64_t t) {
  uint8_t *p;
  req_begin(c, OP_ADDWATCH, (uint32_t)(4 + pl + 4), &p);
  p = put_str(p, path, (uint32_t)pl);
  w32(p, 0);
  ring_push(c, OP_ADDWATCH, 0, t, 0);
}
static void rq_ping(struct conn *c, uint64_t t) {
  uint8_t *p = out_room(c, 12);
  w32(p, 8); w32(p + 4, (uint32_t)-2); w32(p + 8, OP_PING);
  c->ot += 12;
  c->pend_ping++;
  c->t_ping = t;
}

/* -------------------------------------------------------------------- io */
static void ep_mod(struct conn *c, int out) {
  struct epoll_event e = { .events = EPOLLIN | (out ? (uint32_t)EPOLLOUT : 0), .data.ptr = c };
  epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &e);
  c->want_out = out;
}
/* Reads and writes as the system calls do, through TLS where it is asked for. */
#ifdef ZKLOAD_TLS
static SSL_CTX *tls_ctx;
static void tls_init(void) {
  tls_ctx = SSL_CTX_new(TLS_client_method());
  /* The certificates are the bench's own: what they cost is measured, not whom they name. */
  SSL_CTX_set_verify(tls_ctx, SSL_VERIFY_NONE, NULL);
  SSL_CTX_set_mode(tls_ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(tls_ctx, 1);
}
static ssize_t tls_result(struct conn *c, int n) {
  int e = SSL_get_error(c->ssl, n);
  if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE) { errno = EAGAIN; return -1; }
  if (e == SSL_ERROR_ZERO_RETURN) return 0;
  if (e != SSL_ERROR_SYSCALL || !errno) errno = EPROTO;
  ERR_clear_error();
  return -1;
}
static ssize_t conn_write(struct conn *c, const void *b, size_t n) {
  if (!c->ssl) return write(c->fd, b, n);
  errno = 0;
  int r = SSL_write(c->ssl, b, n > INT32_MAX ? INT32_MAX : (int)n);
  return r > 0 ? r : tls_result(c, r);
}
/* Of a record at most 16 KiB come at once: takes what is there. */
static ssize_t conn_read(struct conn *c, uint8_t *b, size_t n) {
  if (!c->ssl) return read(c->fd, b, n);
  size_t got = 0;
  while (got < n) {
    errno = 0;
    int r = SSL_read(c->ssl, b + got, (int)(n - got));
    if (r <= 0) return got ? (ssize_t)got : tls_result(c, r);
    got += (size_t)r;
  }
  return (ssize_t)got;
}
static void conn_free_tls(struct conn *c) { SSL_free(c->ssl); c->ssl = NULL; }
#else
#define conn_write(c, b, n) write((c)->fd, b, n)
#define conn_read(c, b, n) read((c)->fd, b, n)
#define conn_free_tls(c) ((void)(c))
#endif
static void conn_down(struct conn *c, uint64_t now, const char *why) {
  conn_free_tls(c);
  if (c->fd >= 0) {
    struct linger l = { 1, 0 };
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
    close(c->fd);
  }
  c->fd = -1;
  if (c->state == S_READY) { nready--; if (!stopping && !on_down) { n_drop++; problem("connection %d dropped: %s", c->id, why); } }
  else if (!on_down) { n_connfail++; problem("connection %d failed: %s", c->id, why); }
  c->state = on_down ? S_DOWN : S_DEAD;
  if (!on_down) ndead++;
  c->rh = c->rt = 0; c->oh = c->ot = 0; c->ln = 0; c->want_out = 0; c->pend_ping = 0;
  if (on_down) on_down(c, now);
}
static void flush_out(struct conn *c, uint64_t now) {
  while (c->oh < c->ot) {
    ssize_t n = conn_write(c, c->ob + c->oh, c->ot - c->oh);
    n_syscalls++;
    if (n < 0) {
      if (errno == EAGAIN) { if (!c->want_out) ep_mod(c, 1); return; }
      if (errno == EINTR) continue;
      conn_down(c, now, strerror(errno));
      return;
    }
    c->oh += (uint32_t)n;
    bytes_out += (uint64_t)n;
    c->t_send = now;
  }
  if (c->want_out) ep_mod(c, 0);
}
static void conn_open(struct conn *c, uint64_t now) {
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (c->fd < 0) { problem("socket: %s", strerror(errno)); c->state = S_HANDSHAKE; conn_down(c, now, "socket"); return; }
  int one = 1;
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  c->state = S_CONNECTING;
  c->t_conn = now;
  c->xid_next = c->xid_expect = 1;
  int r = connect(c->fd, (struct sockaddr *)&H[c->host].sa, sizeof H[c->host].sa);
  if (r < 0 && errno != EINPROGRESS) { conn_down(c, now, strerror(errno)); return; }
  struct epoll_event e = { .events = EPOLLIN | EPOLLOUT, .data.ptr = c };
  epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &e);
  c->want_out = 1;
}
static void send_connect(struct conn *c, uint64_t now) {
  uint8_t *p = out_room(c, 49);
  w32(p, 45);
  w32(p + 4, 0);
  w64(p + 8, (uint64_t)c->last_zxid);
  w32(p + 16, (uint32_t)O.stimeout);
  w64(p + 20, (uint64_t)c->sid);
  w32(p + 28, 16);
  memcpy(p + 32, c->pw, 16);
  p[48] = 0;
  c->ot += 49;
  c->state = S_HANDSHAKE;
  flush_out(c, now);
}

#ifdef ZKLOAD_TLS
/* One step of the handshake with TLS; the protocol's own begins behind it. */
static void tls_step(struct conn *c, uint64_t now) {
  if (!c->ssl) {
    c->ssl = SSL_new(tls_ctx);
    SSL_set_fd(c->ssl, c->fd);
    SSL_set_connect_state(c->ssl);
    c->state = S_TLS;
  }
  int r = SSL_do_handshake(c->ssl);
  if (r == 1) { send_connect(c, now); return; }
  int e = SSL_get_error(c->ssl, r);
  if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE) ep_mod(c, e == SSL_ERROR_WANT_WRITE);
  else conn_down(c, now, "TLS handshake");
}
#endif

static inline void top_up(struct conn *c, uint64_t now) {
  if (gen) while (outstanding(c) < outst_limit && gen(c, now)) ;
}
static struct hist h_ping, h_open;

static int frame(struct conn *c, const uint8_t *b, int n, uint64_t now) {
  if (c->state == S_HANDSHAKE) {
    if (n < 36) { n_proto++; problem("connect response of %d bytes", n); return -1; }
    c->timeout_ms = (int32_t)r32(b + 4);
    int64_t sid = (int64_t)r64(b + 8);
    if (sid == 0 || c->timeout_ms <= 0) {
      n_expired++;
      c->sid = 0; memset(c->pw, 0, 16);
      if (!on_down) problem("session refused (expired)");
      return -1;
    }
    c->sid = sid;
    if (r32(b + 16) == 16) memcpy(c->pw, b + 20, 16);
    c->state = S_READY;
    nready++;
    h_add(&h_open, now - c->t_conn);
    if (on_ready) on_ready(c, now);
    return 0;
  }
  if (n < 16) { n_proto++; problem("reply of %d bytes", n); return -1; }
  int32_t xid = (int32_t)r32(b), err = (int32_t)r32(b + 12);
  int64_t zxid = (int64_t)r64(b + 4);
  if (xid == -1) {
    if (n < 28 || (int)r32(b + 24) != n - 28) { n_proto++; problem("malformed notification"); return 0; }
    if (on_notify) on_notify(c, (int)r32(b + 16), b + 28, n - 28, now);
    else { n_unexpected++; problem("unexpected notification"); }
    return 0;
  }
  if (xid == -2) {
    if (c->pend_ping) { c->pend_ping--; h_add(&h_ping, now - c->t_ping); }
    else n_unexpected++;
    return 0;
  }
  if (outstanding(c) == 0) { n_proto++; problem("reply xid %d with nothing outstanding", xid); return 0; }
  if (xid != c->xid_expect) { n_proto++; problem("xid %d where %d was due", xid, c->xid_expect); }
  c->xid_expect++;
  if (zxid > 0) {
    if (zxid < c->last_zxid) { n_zxid_back++; problem("zxid went back"); }
    else c->last_zxid = zxid;
  }
  struct op o = c->ring[c->rh++ & c->rmask];
  on_reply(c, &o, err, b + 16, n - 16, now);
  return 0;
}

static uint8_t *scratch;
#define SCRATCH (4u << 20)
static void on_readable(struct conn *c, uint64_t now) {
  for (int loops = 0; loops < 4; loops++) {
    uint32_t have = c->ln;
    if (have) memcpy(scratch, c->lb, have);
    ssize_t n = conn_read(c, scratch + have, 262144);
    n_syscalls++;
    if (n == 0) { conn_down(c, now, "closed by server"); return; }
    if (n < 0) {
      if (errno == EAGAIN || errno == EINTR) return;
      conn_down(c, now, strerror(errno));
      return;
    }
    bytes_in += (uint64_t)n;
    uint32_t tot = have + (uint32_t)n, at = 0;
    c->ln = 0;
    while (tot - at >= 4) {
      uint32_t fl = r32(scratch + at);
      if (fl > SCRATCH - 262144 - 8) { n_proto++; problem("frame of %u bytes", fl); conn_down(c, now, "bad frame"); return; }
      if (tot - at - 4 < fl) break;
      if (frame(c, scratch + at + 4, (int)fl, now) < 0) { conn_down(c, now, "protocol"); return; }
      if (c->fd < 0) return;
      at += 4 + fl;
    }
    if (at < tot) {
      if (tot - at > c->lcap) { c->lcap = (tot - at) * 2; c->lb = realloc(c->lb, c->lcap); }
      memcpy(c->lb, scratch + at, tot - at);
      c->ln = tot - at;
    }
    if (n < 262144) break;
  }
  if (c->state == S_READY) {
    top_up(c, now);
    if (c->oh < c->ot && !c->want_out) flush_out(c, now);
  }
}

static uint64_t last_house;
static void housekeeping(uint64_t now) {
  if (now - last_house < 100 * MS) return;
  last_house = now;
  for (int i = 0; i < nC; i++) {
    struct conn *c = &C[i];
    if (c->state == S_READY && !c->pend_ping && now - c->t_send > (uint64_t)c->timeout_ms * MS / 3) {
      rq_ping(c, now);
      if (!c->want_out) flush_out(c, now);
    }
  }
}
static void pump(int64_t timeout_ns) {
  static struct epoll_event ev[512];
  struct timespec ts = { timeout_ns / (int64_t)SEC, timeout_ns % (int64_t)SEC };
  int n = epoll_pwait2(ep, ev, 512, &ts, NULL);
  n_syscalls++;
  uint64_t now = now_ns();
  for (int i = 0; i < n; i++) {
    struct conn *c = ev[i].data.ptr;
    if (c->fd < 0) continue;
    if (n > 1 && i) now = now_ns();
    if (c->state == S_CONNECTING) {
      int e = 0;
      socklen_t l = sizeof e;
      getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &e, &l);
      if (e) { conn_down(c, now, strerror(e)); continue; }
#ifdef ZKLOAD_TLS
      if (O.tls && ev[i].events & EPOLLOUT) { tls_step(c, now); continue; }
#endif
      if (ev[i].events & (EPOLLOUT)) send_connect(c, now);
      else if (ev[i].events & (EPOLLERR | EPOLLHUP)) conn_down(c, now, "hang-up");
      continue;
    }
#ifdef ZKLOAD_TLS
    if (c->state == S_TLS) { tls_step(c, now); continue; }
#endif
    if (ev[i].events & EPOLLOUT) flush_out(c, now);
    if (c->fd >= 0 && ev[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP)) on_readable(c, now);
  }
  housekeeping(now);
}

/* --------------------------------------------------------------- results */
static uint64_t t_start, t_m0, t_m1, hard_deadline;
static struct rusage ru0;
static void json_head(void) {
  printf("{\"mode\":\"%s\",\"label\":\"%s\",\"hosts\":%d,\"conns\":%d,\"pipeline\":%d,\"size\":%d,\"znodes\":%d", O.mode, O.label, nH, O.conns,
         O.pipeline, O.size, O.nodes);
}
static void json_tail(void) {
  struct rusage ru;
  getrusage(RUSAGE_SELF, &ru);
  double la[3] = { 0, 0, 0 };
  if (getloadavg(la, 3) < 0) la[0] = -1;
  uint64_t bad = n_err + n_proto + n_zxid_back + n_drop + n_unexpected;
  printf(",\"errors\":%" PRIu64 ",\"err_replies\":%" PRIu64 ",\"proto_errors\":%" PRIu64 ",\"zxid_back\":%" PRIu64 ",\"drops\":%" PRIu64
         ",\"unexpected\":%" PRIu64 ",\"conn_failures\":%" PRIu64 ",\"expired\":%" PRIu64,
         bad, n_err, n_proto, n_zxid_back, n_drop, n_unexpected, n_connfail, n_expired);
  int any = 0;
  for (int i = 0; i < 300; i++)
    if (errcode[i]) { printf("%s\"%d\":%" PRIu64, any ? "," : ",\"err_codes\":{", -i, errcode[i]); any = 1; }
  if (any) printf("}");
  if (first_problem[0]) printf(",\"first_problem\":\"%s\"", first_problem);
  printf(",\"bytes_in\":%" PRIu64 ",\"bytes_out\":%" PRIu64 ",\"client_cpu_s\":%.3f,\"client_total_s\":%.3f,\"loadavg1\":%.2f}\n", bytes_in, bytes_out,
         (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec - ru0.ru_utime.tv_sec - ru0.ru_stime.tv_sec) +
           (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec - ru0.ru_utime.tv_usec - ru0.ru_stime.tv_usec) / 1e6,
         (double)(now_ns() - t_start) / 1e9, la[0]);
  fflush(stdout);
}
static void fail(const char *why) {
  problem("%s", why);
  json_head();
  printf(",\"failed\":\"%s\"", why);
  json_tail();
  exit(1);
}
static void count_err(int err, const char *what) {
  n_err++;
  int k = -err;
  errcode[k >= 0 && k < 300 ? k : 299]++;
  problem("%s: err %d", what, err);
}
static int marks;
static void mark(const char *what) { if (marks) { fprintf(stderr, "@%s %.3f\n", what, epoch_ms()); fflush(stderr); } }
static int expired_deadline(void) { return interrupted || now_ns() > hard_deadline; }

/* --------------------------------------------------- opening and set-up */
static int next_open, open_limit;
static void open_more(uint64_t now) {
  int inflight = next_open - nready - ndead;
  while (next_open < open_limit && inflight < O.parallel) { conn_open(&C[next_open++], now); inflight++; }
}
static void open_all(int n) {
  open_limit = n;
  uint64_t lim = now_ns() + 60 * SEC;
  while (nready + ndead < n && !expired_deadline() && now_ns() < lim) { open_more(now_ns()); pump((int64_t)(50 * MS)); }
  if (nready < n) fail("not every connection could be opened");
}

static uint32_t su_next, su_total, su_done;
static int su_kind;              /* 0 dirs, 1 leaves, 2 sync, 3 cleanup leaves, 4 cleanup dirs */
static uint32_t *su_redo, su_nredo, su_credo;
static uint32_t n_dirs(void) { return (uint32_t)((O.nodes + O.fanout - 1) / O.fanout); }
static int setup_gen(struct conn *c, uint64_t now) {
  char p[1200];
  if (su_kind == 1 && su_nredo) {
    uint32_t i = su_redo[--su_nredo];
    rq_set(c, p, leaf_path(p, i), 0, i, now, 0);
    return 1;
  }
  if (su_next >= su_total) return 0;
  uint32_t i = su_next++;
  if (su_kind == 0) rq_create(c, p, dir_path(p, i), 0, 0, 0, i, now, 0);
  else if (su_kind == 1) rq_create(c, p, leaf_path(p, i), 1, 0, 0, i, now, 0);
  else if (su_kind == 3) rq_delete(c, p, leaf_path(p, i), i, now, 0);
  else if (su_kind == 4) rq_delete(c, p, dir_path(p, i), i, now, 0);
  return 1;
}
static void setup_reply(struct conn *c, struct op *o, int err, const uint8_t *b, int n, uint64_t now) {
  (void)c; (void)b; (void)n; (void)now;
  if (su_kind == 1 && o->type == OP_CREATE && err == ZNODEEXISTS) {
    if (su_nredo == su_credo) { su_credo = su_credo ? su_credo * 2 : 1024; su_redo = realloc(su_redo, su_credo * sizeof *su_redo); }
    su_redo[su_nredo++] = o->idx;
    return;
  }
  if (err && !(err == ZNODEEXISTS && o->type == OP_CREATE) && !(err == ZNONODE && o->type == OP_DELETE)) count_err(err, "set-up");
  su_done++;
}
static void run_setup(int kind, uint32_t total, int from_conns, uint32_t limit) {
  su_kind = kind; su_next = su_done = 0; su_total = total;
  on_reply = setup_reply;
  gen = setup_gen;
  outst_limit = limit;
  while (su_done < su_total) {
    if (expired_deadline()) fail("set-up ran out of time");
    if (nready == 0) fail("no connection left in set-up");
    uint64_t now = now_ns();
    for (int i = 0; i < from_conns; i++)
      if (C[i].state == S_READY && !C[i].want_out && outstanding(&C[i]) < outst_limit) { top_up(&C[i], now); flush_out(&C[i], now); }
    pump((int64_t)(20 * MS));
  }
  gen = NULL;
}
static uint32_t mk_done;
static void mk_reply(struct conn *c, struct op *o, int err, const uint8_t *b, int n, uint64_t now) {
  (void)c; (void)o; (void)b; (void)n; (void)now;
  if (err && err != ZNODEEXISTS) count_err(err, "create of the base path");
  mk_done++;
}
static void make_prefix(void) {
  char p[1024];
  uint32_t want = 0;
  on_reply = mk_reply;
  gen = NULL;
  for (int i = 1; i <= prefix_len; i++)
    if (i == prefix_len || prefix[i] == '/') { memcpy(p, prefix, (size_t)i); rq_create(&C[0], p, i, 0, 0, 0, 0, 0, 0); want++; }
  flush_out(&C[0], now_ns());
  while (mk_done < want) { if (expired_deadline()) fail("base path"); pump((int64_t)(20 * MS)); }
}
static uint32_t sy_done;
static void sy_reply(struct conn *c, struct op *o, int err, const uint8_t *b, int n, uint64_t now) {
  (void)c; (void)o; (void)b; (void)n; (void)now;
  if (err) count_err(err, "sync");
  sy_done++;
}
static void sync_all(void) {
  on_reply = sy_reply;
  gen = NULL;
  sy_done = 0;
  uint64_t now = now_ns();
  uint32_t want = 0;
  for (int i = 0; i < nC; i++) if (C[i].state == S_READY) { rq_sync(&C[i], now); flush_out(&C[i], now); want++; }
  while (sy_done < want) { if (expired_deadline()) fail("sync"); pump((int64_t)(20 * MS)); }
}
static void full_setup(int leaves) {
  make_prefix();
  if (leaves) {
    run_setup(0, n_dirs(), 1, 64);
    run_setup(1, (uint32_t)O.nodes, nC, nC > 100 ? 4 : 32);
  }
  sync_all();
}
static int closed_acks;
static void cl_reply(struct conn *c, struct op *o, int err, const uint8_t *b, int n, uint64_t now) {
  (void)c; (void)b; (void)n; (void)now;
  if (o->type == OP_CLOSE && err == 0) closed_acks++;
}
static double close_all(void) {
  stopping = 1;
  gen = NULL;
  on_notify = NULL;
  on_reply = cl_reply;
  on_down = NULL;
  uint64_t t0 = now_ns(), lim = t0 + 10 * SEC;
  int want = 0;
  for (int i = 0; i < nC; i++) if (C[i].state == S_READY) {
    uint8_t *p;
    req_begin(&C[i], OP_CLOSE, 0, &p);
    ring_push(&C[i], OP_CLOSE, 0, t0, 0);
    if (!C[i].want_out) flush_out(&C[i], t0);
    want++;
  }
  while (closed_acks < want && nready > 0 && now_ns() < lim && !interrupted) pump((int64_t)(20 * MS));
  double s = (double)(now_ns() - t0) / 1e9;
  for (int i = 0; i < nC; i++) if (C[i].fd >= 0) conn_down(&C[i], 0, "");
  return s;
}

/* --------------------------------------------------- throughput, latency */
static struct hist h_read, h_write;
static uint64_t cnt_read, cnt_write, cnt_total_all, series[4096];
static int nseries, measuring;
static uint64_t rng = 88172645463325252ull;
static inline uint64_t rnd(void) { rng ^= rng << 13; rng ^= rng >> 7; rng ^= rng << 17; return rng; }
static int wsum;

static void check_stat(const uint8_t *s, const char *what) {
  if ((int)r32(s + 52) != O.size) { n_proto++; problem("%s: stat.dataLength %d", what, (int)r32(s + 52)); }
}
static void check_data(const uint8_t *b, int n, const char *what) {
  if (n != 4 + O.size + STAT_LEN || (int)r32(b) != O.size) { n_proto++; problem("%s: reply body of %d bytes", what, n); return; }
  if (O.size > 8 && memcmp(b + 12, pattern + 8, (size_t)O.size - 8)) { n_proto++; problem("%s: wrong data", what); }
  check_stat(b + 4 + O.size, what);
}
static void check_reply(struct conn *c, struct op *o, const uint8_t *b, int n) {
  char p[1200];
  switch (o->type) {
    case OP_GET: check_data(b, n, "getData"); break;
    case OP_SET:
    case OP_EXISTS:
      if (n != STAT_LEN) { n_proto++; problem("stat reply of %d bytes", n); }
      else check_stat(b, "stat");
      break;
    case OP_CREATE: {
      int l = own_path(p, 'c', c, o->aux);
      if (O.flags & 2) l += 10;
      if (n != 4 + l || (int)r32(b) != l || (!(O.flags & 2) && memcmp(b + 4, p, (size_t)l))) { n_proto++; problem("create: wrong path in reply"); }
      break;
    }
    case OP_DELETE:
    case OP_ADDWATCH: break;
    case OP_CHILDREN: {
      uint32_t want = (uint32_t)O.nodes - o->idx * (uint32_t)O.fanout;
      if (want > (uint32_t)O.fanout) want = (uint32_t)O.fanout;
      if (n < 4 || r32(b) != want || n != (int)(4 + want * 13)) { n_proto++; problem("getChildren: %d names, %d bytes", n < 4 ? -1 : (int)r32(b), n); }
      break;
    }
  }
}
static void tp_reply(struct conn *c, struct op *o, int err, const uint8_t *b, int n, uint64_t now) {
  if (err) count_err(err, "reply");
  else if (O.validate) check_reply(c, o, b, n);
  cnt_total_all++;
  if (!measuring || now < t_m0) return;
  int wr = o->type == OP_SET || o->type == OP_CREATE || o->type == OP_DELETE;
  if (wr) { cnt_write++; h_add(&h_write, now - o->t); }
  else { cnt_read++; h_add(&h_read, now - o->t); }
  uint64_t s = (now - t_m0) / SEC;
  if (s < 4096) { series[s]++; if ((int)s >= nseries) nseries = (int)s + 1; }
}
static int emit(struct conn *c, uint64_t t) {
  char p[1200];
  if (c->flag) {                       /* second half of a create+delete pair */
    c->flag = 0;
    rq_delete(c, p, own_path(p, 'c', c, c->seq), 0, t, c->seq);
    return 1;
  }
  int r = wsum == O.w_get ? 0 : (int)(rnd() % (uint64_t)wsum);
  uint32_t i = (uint32_t)(rnd() % (uint64_t)O.nodes);
  if ((r -= O.w_get) < 0) rq_path_flag(c, OP_GET, p, leaf_path(p, i), 0, i, t, 0);
  else if ((r -= O.w_set) < 0) rq_set(c, p, leaf_path(p, i), ++c->seq, i, t, 0);
  else if ((r -= O.w_exists) < 0) rq_path_flag(c, OP_EXISTS, p, leaf_path(p, i), 0, i, t, 0);
  else if ((r -= O.w_children) < 0) { uint32_t k = i / (uint32_t)O.fanout; rq_path_flag(c, OP_CHILDREN, p, dir_path(p, k), 0, k, t, 0); }
  else if ((r -= O.w_createdel) < 0) { c->seq++; c->flag = 1; rq_create(c, p, own_path(p, 'c', c, c->seq), 1, O.flags, c->seq, 0, t, c->seq); }
  else { c->seq++; rq_create(c, p, own_path(p, 'c', c, c->seq), 1, O.flags, c->seq, 0, t, c->seq); }
  return 1;
}
static int tp_gen(struct conn *c, uint64_t now) {
  if (stopping && !c->flag) return 0;
  return emit(c, now);
}
static void mode_throughput(void) {
  open_all(nC);
  if (O.setup) full_setup(1);
  on_reply = tp_reply;
  outst_limit = (uint32_t)O.pipeline;
  getrusage(RUSAGE_SELF, &ru0);
  t_m0 = now_ns() + (uint64_t)(O.warmup * 1e9);
  t_m1 = t_m0 + (uint64_t)(O.duration * 1e9);
  measuring = 1;
  uint64_t now = now_ns(), sent = 0, r0 = now;
  int rr = 0, cpu_started = 0;
  bytes_in = bytes_out = n_syscalls = 0;
  struct rusage ru_end;
  if (O.rate <= 0) {
    gen = tp_gen;
    for (int i = 0; i < nC; i++) { top_up(&C[i], now); flush_out(&C[i], now); }
  }
  while ((now = now_ns()) < t_m1 && !expired_deadline() && nready > 0) {
    if (!cpu_started && now >= t_m0) { cpu_started = 1; mark("begin"); getrusage(RUSAGE_SELF, &ru0); bytes_in = bytes_out = n_syscalls = 0; }
    int64_t wait = (int64_t)(t_m1 - now);
    if (wait > (int64_t)(20 * MS)) wait = (int64_t)(20 * MS);
    if (O.rate > 0) {
      double per = 1e9 / O.rate;
      for (;;) {
        uint64_t due = r0 + (uint64_t)((double)sent * per);
        if (due > now) { if ((int64_t)(due - now) < wait) wait = (int64_t)(due - now); break; }
        struct conn *c = &C[rr++ % nC];
        if (c->state == S_READY) { emit(c, due); if (!c->want_out) flush_out(c, now); }
        sent++;
      }
    }
    pump(wait);
  }
  getrusage(RUSAGE_SELF, &ru_end);
  uint64_t now_end = now_ns();
  mark("end");
  double secs = (double)(now_end - t_m0) / 1e9;
  measuring = 0;
  stopping = 1;
  uint64_t bi = bytes_in, bo = bytes_out, sc = n_syscalls;
  uint64_t lim = now_ns() + 10 * SEC;
  for (;;) {
    uint32_t left = 0;
    for (int i = 0; i < nC; i++) if (C[i].state == S_READY) left += outstanding(&C[i]);
    if (!left || now_ns() > lim || interrupted) { if (left) { n_proto += left; problem("%u replies never came", left); } break; }
    pump((int64_t)(20 * MS));
  }
  gen = NULL;
  if (O.cleanup && O.setup) {
    stopping = 0;
    run_setup(3, (uint32_t)O.nodes, nC, 32);
    run_setup(4, n_dirs(), 1, 32);
    stopping = 1;
  }
  close_all();
  json_head();
  uint64_t tot = cnt_read + cnt_write;
  double cpu = (double)(ru_end.ru_utime.tv_sec + ru_end.ru_stime.tv_sec - ru0.ru_utime.tv_sec - ru0.ru_stime.tv_sec) +
               (double)(ru_end.ru_utime.tv_usec + ru_end.ru_stime.tv_usec - ru0.ru_utime.tv_usec - ru0.ru_stime.tv_usec) / 1e6;
  printf(",\"secs\":%.3f,\"ops\":%" PRIu64 ",\"ops_per_s\":%.1f,\"reads_per_s\":%.1f,\"writes_per_s\":%.1f,\"gen_cpu_s\":%.3f,\"gen_us_per_op\":%.3f,\"syscalls_per_op\":%.3f,\"mb_in_s\":%.2f,\"mb_out_s\":%.2f",
         secs, tot, (double)tot / secs, (double)cnt_read / secs, (double)cnt_write / secs, cpu, tot ? cpu * 1e6 / (double)tot : 0,
         tot ? (double)sc / (double)tot : 0, (double)bi / secs / 1e6, (double)bo / secs / 1e6);
  if (O.rate > 0) printf(",\"rate\":%.0f", O.rate);
  if (h_read.n) h_json("read_us", &h_read);
  if (h_write.n) h_json("write_us", &h_write);
  printf(",\"series\":[");
  for (int i = 0; i < nseries && i < (int)secs; i++) printf("%s%" PRIu64, i ? "," : "", series[i]);
  printf("]");
  json_tail();
}

/* ----------------------------------------------------------------- watch */
static struct hist h_delay, h_fan, h_rearm;
static uint64_t w_round, w_got, w_armed, w_setdone, w_t0, w_tl, w_notifs, w_dup, w_stale, w_fan_ns;
static uint64_t *w_tset;
static char w_path[1200];
static int w_pl;
static void wt_reply(struct conn *c, struct op *o, int err, const uint8_t *b, int n, uint64_t now) {
  (void)now;
  if (err) { count_err(err, "watch"); }
  else if (O.validate) {
    check_reply(c, o, b, n);
    if (o->type == OP_GET && O.size >= 8 && n >= 12 && r64(b + 4) < w_round) { w_stale++; n_proto++; problem("getData after a notification returned the older value"); }
  }
  if (o->type == OP_SET) w_setdone++;
  else w_armed++;
}
static void wt_notify(struct conn *c, int type, const uint8_t *path, int n, uint64_t now) {
  if (type != 3 || n != w_pl || memcmp(path, w_path, (size_t)n)) { n_proto++; problem("notification of type %d", type); return; }
  if (O.persistent) {
    uint64_t k = c->rounds++;
    if (k >= w_round) { w_dup++; n_proto++; problem("more notifications than changes"); return; }
    h_add(&h_delay, now - w_tset[k & 0xffff]);
    w_notifs++; w_got++;
    return;
  }
  if (c->rounds >= w_round) { w_dup++; n_proto++; problem("second notification in one round"); return; }
  c->rounds = w_round;
  h_add(&h_delay, now - w_t0);
  w_got++; w_notifs++;
  if (w_got == (uint64_t)(nC - 1)) w_tl = now;
  if (!stopping) { rq_path_flag(c, OP_GET, w_path, w_pl, 1, 0, now, 0); }
}
static void mode_watch(void) {
  open_all(nC);
  O.nodes = 1;
  full_setup(1);
  w_pl = leaf_path(w_path, 0);
  int N = nC - 1;
  struct conn *wr = &C[N];
  on_reply = wt_reply;
  on_notify = wt_notify;
  gen = NULL;
  w_tset = calloc(65536, sizeof *w_tset);
  uint64_t now = now_ns();
  for (int i = 0; i < N; i++) {
    if (O.persistent) rq_addwatch(&C[i], w_path, w_pl, now);
    else rq_path_flag(&C[i], OP_GET, w_path, w_pl, 1, 0, now, 0);
    flush_out(&C[i], now);
  }
  while (w_armed < (uint64_t)N) { if (expired_deadline()) fail("arming the watches"); pump((int64_t)(20 * MS)); }
  getrusage(RUSAGE_SELF, &ru0);
  uint64_t m0 = now_ns(), mw = m0 + (uint64_t)(O.warmup * 1e9), mend = mw + (uint64_t)(O.duration * 1e9), rounds = 0, n0 = 0;
  int warm = 0;
  if (O.persistent) {
    while ((now = now_ns()) < mend && !expired_deadline() && n_drop == 0) {
      if (!warm && now >= mw) {
        mark("begin");
        warm = 1; m0 = now; n0 = w_notifs; rounds = 0; memset(&h_delay, 0, sizeof h_delay); getrusage(RUSAGE_SELF, &ru0);
      }
      int sent = 0;
      while (w_round - w_got / (uint64_t)N < (uint64_t)O.pipeline) {
        w_tset[w_round & 0xffff] = now;
        w_round++; rounds++; sent = 1;
        rq_set(wr, w_path, w_pl, w_round, 0, now, 0);
      }
      if (sent && !wr->want_out) flush_out(wr, now);
      pump((int64_t)(20 * MS));
    }
  } else {
    while ((now = now_ns()) < mend && !expired_deadline() && n_drop == 0) {
      if (!warm && now >= mw) {
        mark("begin");
        warm = 1; m0 = now; n0 = w_notifs; rounds = 0; w_fan_ns = 0;
        memset(&h_delay, 0, sizeof h_delay); memset(&h_fan, 0, sizeof h_fan); memset(&h_rearm, 0, sizeof h_rearm);
        getrusage(RUSAGE_SELF, &ru0);
      }
      w_round++;
      w_got = w_armed = w_setdone = 0;
      w_t0 = now_ns();
      rq_set(wr, w_path, w_pl, w_round, 0, w_t0, 0);
      flush_out(wr, w_t0);
      uint64_t lim = w_t0 + 20 * SEC;
      while ((w_got < (uint64_t)N || w_armed < (uint64_t)N || !w_setdone) && n_drop == 0) {
        if (expired_deadline() || now_ns() > lim) { n_proto++; problem("round %" PRIu64 ": %" PRIu64 " of %d notified, %" PRIu64 " re-armed", w_round, w_got, N, w_armed); goto out; }
        pump((int64_t)(20 * MS));
      }
      now = now_ns();
      h_add(&h_fan, w_tl - w_t0);
      h_add(&h_rearm, now - w_t0);
      w_fan_ns += w_tl - w_t0;
      rounds++;
    }
  }
out:;
  uint64_t t1 = now_ns();
  mark("end");
  double secs = (double)(t1 - m0) / 1e9;
  uint64_t nn = w_notifs - n0;
  struct rusage ru_end;
  getrusage(RUSAGE_SELF, &ru_end);
  stopping = 1;
  if (O.persistent) {                 /* let the tail arrive so that lost events are seen */
    uint64_t lim = now_ns() + 10 * SEC;
    while (w_got < w_round * (uint64_t)N && now_ns() < lim && !interrupted) pump((int64_t)(20 * MS));
    if (w_got != w_round * (uint64_t)N) { n_proto++; problem("%" PRIu64 " notifications of %" PRIu64, w_got, w_round * (uint64_t)N); }
  }
  close_all();
  json_head();
  double cpu = (double)(ru_end.ru_utime.tv_sec + ru_end.ru_stime.tv_sec - ru0.ru_utime.tv_sec - ru0.ru_stime.tv_sec) +
               (double)(ru_end.ru_utime.tv_usec + ru_end.ru_stime.tv_usec - ru0.ru_utime.tv_usec - ru0.ru_stime.tv_usec) / 1e6;
  printf(",\"persistent\":%d,\"watchers\":%d,\"secs\":%.3f,\"rounds\":%" PRIu64 ",\"notifications\":%" PRIu64 ",\"notif_per_s\":%.1f,\"gen_cpu_s\":%.3f", O.persistent, N, secs,
         rounds, nn, (double)nn / secs, cpu);
  if (!O.persistent && w_fan_ns) printf(",\"burst_notif_per_s\":%.1f", (double)rounds * N / ((double)w_fan_ns / 1e9));
  h_json("delay_us", &h_delay);
  if (h_fan.n) { h_json("fanout_us", &h_fan); h_json("cycle_us", &h_rearm); }
  printf(",\"duplicates\":%" PRIu64 ",\"stale_reads\":%" PRIu64, w_dup, w_stale);
  json_tail();
}

/* -------------------------------------------------------------- sessions */
static void no_reply(struct conn *c, struct op *o, int err, const uint8_t *b, int n, uint64_t now) {
  (void)c; (void)o; (void)err; (void)b; (void)n; (void)now;
}
static void mode_sessions(void) {
  on_reply = no_reply;
  getrusage(RUSAGE_SELF, &ru0);
  mark("begin");
  uint64_t t0 = now_ns();
  open_limit = nC;
  uint64_t lim = t0 + (uint64_t)(O.maxtime * 1e9);
  while (nready + ndead < nC && now_ns() < lim && !interrupted) { open_more(now_ns()); pump((int64_t)(50 * MS)); }
  double open_s = (double)(now_ns() - t0) / 1e9;
  int opened = nready;
  mark("end");
  struct hist open_h = h_open;
  uint64_t hold0 = now_ns(), hold1 = hold0 + (uint64_t)(O.duration * 1e9);
  while (now_ns() < hold1 && !interrupted) pump((int64_t)(20 * MS));
  int held = nready;
  double close_s = close_all();
  json_head();
  printf(",\"opened\":%d,\"open_s\":%.3f,\"sessions_per_s\":%.1f,\"hold_s\":%.1f,\"held\":%d,\"pings\":%" PRIu64 ",\"close_s\":%.3f,\"closed\":%d,\"closes_per_s\":%.1f,\"negotiated_timeout_ms\":%d",
         opened, open_s, opened / open_s, O.duration, held, h_ping.n, close_s, closed_acks, closed_acks / (close_s > 0 ? close_s : 1), nC ? C[0].timeout_ms : 0);
  h_json("open_us", &open_h);
  h_json("ping_us", &h_ping);
  json_tail();
}

/* ------------------------------------------------------------------ fill */
static uint64_t fill_mark[21];
static void fill_reply(struct conn *c, struct op *o, int err, const uint8_t *b, int n, uint64_t now) {
  char p[1200];
  (void)c;
  if (err) count_err(err, "create");
  else if (O.validate) {
    int l = leaf_path(p, o->idx);
    if (n != 4 + l || (int)r32(b) != l || memcmp(b + 4, p, (size_t)l)) { n_proto++; problem("create: wrong path in reply"); }
  }
  h_add(&h_write, now - o->t);
  su_done++;
  uint32_t step = su_total / 10;
  if (step && su_done % step == 0 && su_done / step <= 10) fill_mark[su_done / step] = now;
}
static void mode_fill(void) {
  open_all(nC);
  make_prefix();
  run_setup(0, n_dirs(), 1, 64);
  getrusage(RUSAGE_SELF, &ru0);
  mark("begin");
  uint64_t t0 = now_ns();
  fill_mark[0] = t0;
  su_kind = 1; su_next = su_done = 0; su_total = (uint32_t)O.nodes;
  on_reply = fill_reply;
  gen = setup_gen;
  outst_limit = (uint32_t)O.pipeline;
  for (int i = 0; i < nC; i++) { top_up(&C[i], t0); flush_out(&C[i], t0); }
  while (su_done < su_total && nready > 0 && !expired_deadline()) pump((int64_t)(20 * MS));
  gen = NULL;
  double secs = (double)(now_ns() - t0) / 1e9;
  mark("end");
  if (su_done < su_total) { n_proto++; problem("%u of %u created", su_done, su_total); }
  uint32_t made = su_done;
  close_all();
  json_head();
  printf(",\"created\":%u,\"secs\":%.3f,\"creates_per_s\":%.1f,\"deciles_per_s\":[", made, secs, made / secs);
  for (int i = 1; i <= 10 && fill_mark[i]; i++) printf("%s%.0f", i > 1 ? "," : "", (double)(su_total / 10) / ((double)(fill_mark[i] - fill_mark[i - 1]) / 1e9));
  printf("]");
  h_json("write_us", &h_write);
  json_tail();
}

/* -------------------------------------------------------------- failover */
static uint64_t fo_last, fo_gap, fo_gap_at, fo_acks, fo_reconn, fo_resumed, fo_lost, fo_checked, fo_badreply;
static int fo_phase, fo_ngaps;
#define FO_GAPS 4096
static struct { uint64_t at, len; } fo_gaps[FO_GAPS];
static void fo_note_gap(uint64_t now) {
  if (!fo_last) return;
  uint64_t g = now - fo_last;
  if (g > fo_gap) { fo_gap = g; fo_gap_at = fo_last; }
  if (g > 5 * MS && fo_ngaps < FO_GAPS) { fo_gaps[fo_ngaps].at = fo_last; fo_gaps[fo_ngaps++].len = g; }
}
static void fo_send(struct conn *c, uint64_t now) {
  char p[1200];
  if (fo_phase == 0) rq_set(c, p, own_path(p, 'f', c, 0), c->acked + 1, 0, now, c->acked + 1);
  else { rq_sync(c, now); rq_path_flag(c, OP_GET, p, own_path(p, 'f', c, 0), 0, 0, now, 0); }
}
static void fo_ready(struct conn *c, uint64_t now) {
  if (c->flag) { fo_reconn++; fo_resumed++; }
  c->flag = 1;
  fo_send(c, now);
  if (!c->want_out) flush_out(c, now);
}
static void fo_down(struct conn *c, uint64_t now) {
  c->t_retry = now + (uint64_t)(5 + rnd() % 15) * MS;
  c->host = (c->host + 1) % nH;
}
static void fo_reply(struct conn *c, struct op *o, int err, const uint8_t *b, int n, uint64_t now) {
  if (fo_phase == 1) {
    if (o->type == OP_GET) {
      if (err) fo_lost++;
      else if (n >= 12 && r64(b + 4) < c->acked) { fo_lost++; problem("acknowledged write lost"); }
      fo_checked++;
      c->rounds = 1;
    }
    return;
  }
  if (err) { fo_badreply++; errcode[-err >= 0 && -err < 300 ? -err : 299]++; fo_send(c, now); return; }
  if (o->type != OP_SET) return;
  c->acked = o->aux;
  if (c->t_ack && now - c->t_ack > c->maxgap) c->maxgap = now - c->t_ack;
  c->t_ack = now;
  fo_note_gap(now);
  fo_last = now;
  fo_acks++;
  h_add(&h_write, now - o->t);
  if (!stopping) fo_send(c, now);
}
static void fo_house(uint64_t now) {
  for (int i = 0; i < nC; i++) {
    struct conn *c = &C[i];
    if (c->state == S_DOWN && now >= c->t_retry) conn_open(c, now);
    else if ((c->state == S_CONNECTING || c->state == S_HANDSHAKE) && now - c->t_conn > 2 * SEC) conn_down(c, now, "connect time-out");
    else if (c->state == S_READY && outstanding(c) && now - c->ring[c->rh & c->rmask].t > (uint64_t)c->timeout_ms * MS * 2 / 3) conn_down(c, now, "read time-out");
  }
}
static int cmp_u64(const void *a, const void *b) { uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b; return x < y ? -1 : x > y; }
static void mode_failover(void) {
  open_all(nC);
  make_prefix();
  mk_done = 0;
  char p[1200];
  on_reply = mk_reply;
  for (int i = 0; i < nC; i++) { rq_create(&C[i], p, own_path(p, 'f', &C[i], 0), 1, 0, 0, 0, 0, 0); flush_out(&C[i], now_ns()); }
  while (mk_done < (uint32_t)nC) { if (expired_deadline()) fail("failover set-up"); pump((int64_t)(20 * MS)); }
  /* a znode left by an earlier run may hold a larger counter: start above it */
  for (int i = 0; i < nC; i++) { C[i].acked = (uint64_t)(epoch_ms() * 1000.0); C[i].flag = 1; }
  on_reply = fo_reply;
  on_ready = fo_ready;
  on_down = fo_down;
  uint64_t now = now_ns(), end = now + (uint64_t)(O.duration * 1e9), begin = now;
  double ep0 = epoch_ms();
  mark("begin");
  for (int i = 0; i < nC; i++) { fo_send(&C[i], now); flush_out(&C[i], now); }
  while ((now = now_ns()) < end && !expired_deadline()) { pump((int64_t)(2 * MS)); fo_house(now_ns()); }
  fo_note_gap(now);
  uint64_t acks = fo_acks;
  mark("end");
  /* check that no acknowledged write was lost */
  stopping = 1;
  uint64_t lim = now_ns() + 15 * SEC;
  for (;;) {                           /* drain writes */
    uint32_t left = 0;
    for (int i = 0; i < nC; i++) left += C[i].state == S_READY ? outstanding(&C[i]) : 1;
    if (!left || now_ns() > lim || interrupted) break;
    pump((int64_t)(5 * MS));
    fo_house(now_ns());
  }
  fo_phase = 1;
  for (int i = 0; i < nC; i++) if (C[i].state == S_READY) { fo_send(&C[i], now_ns()); flush_out(&C[i], now_ns()); }
  lim = now_ns() + 10 * SEC;
  while (fo_checked < (uint64_t)nC && now_ns() < lim && !interrupted) { pump((int64_t)(5 * MS)); fo_house(now_ns()); }
  uint64_t *g = calloc((size_t)nC, sizeof *g);
  for (int i = 0; i < nC; i++) g[i] = C[i].maxgap;
  qsort(g, (size_t)nC, sizeof *g, cmp_u64);
  close_all();
  json_head();
  printf(",\"acks\":%" PRIu64 ",\"acks_per_s\":%.1f,\"no_write_gap_ms\":%.1f,\"gap_at_epoch_ms\":%.1f,\"client_gap_ms\":{\"median\":%.1f,\"max\":%.1f},\"reconnects\":%" PRIu64
         ",\"error_replies\":%" PRIu64 ",\"lost_acked\":%" PRIu64 ",\"checked\":%" PRIu64,
         acks, (double)acks / O.duration, (double)fo_gap / 1e6, ep0 + ((double)fo_gap_at - (double)begin) / 1e6, (double)g[nC / 2] / 1e6, (double)g[nC - 1] / 1e6, fo_reconn,
         fo_badreply, fo_lost, fo_checked);
  printf(",\"gaps\":[");
  for (int i = 0; i < fo_ngaps; i++) printf("%s[%.1f,%.1f]", i ? "," : "", ep0 + ((double)fo_gaps[i].at - (double)begin) / 1e6, (double)fo_gaps[i].len / 1e6);
  printf("]");
  h_json("write_us", &h_write);
  json_tail();
}

/* ----------------------------------------------------------------- probe */
static int pr_ok;
static double pr_conn_at, pr_op_at;
static void pr_down(struct conn *c, uint64_t now) { c->t_retry = now + 2 * MS; c->host = (c->host + 1) % nH; }
static void pr_ready(struct conn *c, uint64_t now) {
  if (!pr_conn_at) pr_conn_at = epoch_ms();
  rq_path_flag(c, OP_EXISTS, "/", 1, 0, 0, now, 0);
  flush_out(c, now);
}
static void pr_reply(struct conn *c, struct op *o, int err, const uint8_t *b, int n, uint64_t now) {
  (void)c; (void)o; (void)b; (void)n; (void)now;
  if (!err) { pr_op_at = epoch_ms(); pr_ok = 1; }
}
static void mode_probe(void) {
  on_ready = pr_ready;
  on_down = pr_down;
  on_reply = pr_reply;
  uint64_t end = now_ns() + (uint64_t)(O.duration * 1e9);
  double at0 = epoch_ms();
  C[0].state = S_DOWN;
  while (!pr_ok && now_ns() < end && !interrupted) {
    uint64_t now = now_ns();
    if (C[0].state == S_DOWN && now >= C[0].t_retry) conn_open(&C[0], now);
    else if ((C[0].state == S_CONNECTING || C[0].state == S_HANDSHAKE) && now - C[0].t_conn > 300 * MS) conn_down(&C[0], now, "time-out");
    pump((int64_t)(1 * MS));
  }
  if (pr_ok) close_all();
  json_head();
  printf(",\"ok\":%d,\"waited_ms\":%.1f,\"connected_epoch_ms\":%.1f,\"served_epoch_ms\":%.1f", pr_ok, epoch_ms() - at0, pr_conn_at, pr_op_at);
  n_connfail = 0;
  json_tail();
  if (!pr_ok) exit(1);
}

/* ------------------------------------------------------------------ main */
static void on_sig(int s) { (void)s; interrupted = 1; }
static void usage(void) {
  fprintf(stderr,
    "zkload MODE [options]       MODE: throughput latency watch sessions fill failover probe\n"
    "  --hosts h:p[,h:p...]      servers, connections spread round-robin (127.0.0.1:2181)\n"
    "  --conns N                 sessions (16; latency: 1; watch: N watchers and one writer)\n"
    "  --pipeline N              outstanding requests per connection (16; latency: 1)\n"
    "  --duration S --warmup S   measured seconds (5) after unmeasured seconds (1)\n"
    "  --mix op=W[,op=W...]      weights of get set exists children createdel create (get=100)\n"
    "  --read-pct P              short for --mix get=P,set=100-P\n"
    "  --size B                  value size (100)\n"
    "  --znodes N                number of znodes (1000) in directories of --fanout N (1000)\n"
    "  --tree-depth D            levels above those directories (1)\n"
    "  --create-flags F          0 persistent, 1 ephemeral, 2 sequential, 3 both (0)\n"
    "  --rate R                  open loop: R requests/s in all, latency from the due time\n"
    "  --persistent              watch: one persistent watch (addWatch) instead of re-arming\n"
    "  --parallel N              handshakes at once (256)\n"
    "  --session-timeout MS      asked for (30000)\n"
    "  --base PATH               where to work (/zkload)\n"
    "  --tls                     speak TLS (where compiled with -DZKLOAD_TLS)\n"
    "  --marks                   write '@begin MS' and '@end MS' of the measured window to stderr\n"
    "  --no-setup --no-validate --cleanup --label TEXT --max-time S\n");
  exit(2);
}
int main(int argc, char **argv) {
  if (argc < 2 || argv[1][0] == '-') usage();
  O.mode = argv[1];
  if (!strcmp(O.mode, "latency")) { O.conns = 1; O.pipeline = 1; }
  if (!strcmp(O.mode, "watch")) { O.conns = 1000; O.pipeline = 1; }
  if (!strcmp(O.mode, "sessions")) O.conns = 5000;
  if (!strcmp(O.mode, "probe")) { O.conns = 1; O.duration = 60; }
  if (!strcmp(O.mode, "fill")) { O.nodes = 1000000; O.pipeline = 64; }
  if (!strcmp(O.mode, "failover")) { O.pipeline = 1; O.duration = 20; }
  for (int i = 2; i < argc; i++) {
    const char *a = argv[i];
#define FLAG(s) (!strcmp(a, s))
#define ARG() (++i < argc ? argv[i] : (usage(), ""))
    if (FLAG("--hosts")) O.hosts = ARG();
    else if (FLAG("--conns")) O.conns = atoi(ARG());
    else if (FLAG("--pipeline")) O.pipeline = atoi(ARG());
    else if (FLAG("--duration")) O.duration = atof(ARG());
    else if (FLAG("--warmup")) O.warmup = atof(ARG());
    else if (FLAG("--size")) O.size = atoi(ARG());
    else if (FLAG("--znodes")) O.nodes = atoi(ARG());
    else if (FLAG("--fanout")) O.fanout = atoi(ARG());
    else if (FLAG("--tree-depth")) O.treedepth = atoi(ARG());
    else if (FLAG("--rate")) O.rate = atof(ARG());
    else if (FLAG("--parallel")) O.parallel = atoi(ARG());
    else if (FLAG("--session-timeout")) O.stimeout = atoi(ARG());
    else if (FLAG("--base")) O.base = ARG();
    else if (FLAG("--label")) O.label = ARG();
    else if (FLAG("--create-flags")) O.flags = atoi(ARG());
    else if (FLAG("--max-time")) O.maxtime = atof(ARG());
    else if (FLAG("--read-pct")) { int r = atoi(ARG()); O.w_get = r; O.w_set = 100 - r; }
    else if (FLAG("--marks")) marks = 1;
#ifdef ZKLOAD_TLS
    else if (FLAG("--tls")) { O.tls = 1; tls_init(); }
#endif
    else if (FLAG("--no-validate")) O.validate = 0;
    else if (FLAG("--no-setup")) O.setup = 0;
    else if (FLAG("--cleanup")) O.cleanup = 1;
    else if (FLAG("--persistent")) O.persistent = 1;
    else if (FLAG("--mix")) {
      char *s = strdup(ARG());
      O.w_get = 0;
      for (char *t = strtok(s, ","); t; t = strtok(NULL, ",")) {
        char *e = strchr(t, '=');
        int w = e ? atoi(e + 1) : 100;
        if (e) *e = 0;
        if (!strcmp(t, "get")) O.w_get = w;
        else if (!strcmp(t, "set")) O.w_set = w;
        else if (!strcmp(t, "exists")) O.w_exists = w;
        else if (!strcmp(t, "children")) O.w_children = w;
        else if (!strcmp(t, "createdel")) O.w_createdel = w;
        else if (!strcmp(t, "create")) O.w_create = w;
        else { fprintf(stderr, "no such operation: %s\n", t); usage(); }
      }
    } else { fprintf(stderr, "no such option: %s\n", a); usage(); }
  }
  wsum = O.w_get + O.w_set + O.w_exists + O.w_children + O.w_createdel + O.w_create;
  if (wsum <= 0 || O.conns < 1 || O.pipeline < 1 || O.size < 0 || O.nodes < 1 || O.fanout < 1 || O.size > (1 << 20)) usage();
  char *hs = strdup(O.hosts);
  for (char *t = strtok(hs, ","); t && nH < 64; t = strtok(NULL, ",")) {
    char *e = strrchr(t, ':');
    if (!e) usage();
    *e = 0;
    H[nH].sa.sin_family = AF_INET;
    H[nH].sa.sin_port = htons((uint16_t)atoi(e + 1));
    if (!strcmp(t, "localhost")) t = "127.0.0.1";
    if (inet_pton(AF_INET, t, &H[nH].sa.sin_addr) != 1) { fprintf(stderr, "not an IPv4 address: %s\n", t); return 2; }
    nH++;
  }
  /* the shape of the tree is part of the path, so that runs of different shapes do not meet */
  prefix_len = snprintf(prefix, 200, "%s", O.base);
  if (prefix_len >= 200 || O.base[0] != '/' || prefix_len < 2) usage();
  prefix_len += snprintf(prefix + prefix_len, sizeof prefix - (size_t)prefix_len, "/t%dx%d", O.nodes, O.fanout);
  for (int i = 1; i < O.treedepth && prefix_len < 900; i++) prefix_len += snprintf(prefix + prefix_len, sizeof prefix - (size_t)prefix_len, "/d%d", i);
  pattern = malloc((size_t)O.size + 8);
  for (int i = 0; i < O.size; i++) pattern[i] = (uint8_t)(i * 31 + 7);
  if (O.size >= 8) memset(pattern, 0, 8);
  signal(SIGINT, on_sig);
  signal(SIGTERM, on_sig);
  signal(SIGPIPE, SIG_IGN);
  rng ^= (uint64_t)getpid() * 0x9E3779B97F4A7C15ull;
  struct rlimit rl;
  if (!getrlimit(RLIMIT_NOFILE, &rl)) { rl.rlim_cur = rl.rlim_max; setrlimit(RLIMIT_NOFILE, &rl); }
  t_start = now_ns();
  getrusage(RUSAGE_SELF, &ru0);
  if (O.maxtime <= 0) O.maxtime = O.duration + O.warmup + (strcmp(O.mode, "fill") ? 90 : 900);
  hard_deadline = t_start + (uint64_t)(O.maxtime * 1e9);
  scratch = malloc(SCRATCH);
  ep = epoll_create1(EPOLL_CLOEXEC);
  nC = O.conns + (!strcmp(O.mode, "watch") ? 1 : 0);
  C = calloc((size_t)nC, sizeof *C);
  for (int i = 0; i < nC; i++) { C[i].fd = -1; C[i].id = i; C[i].host = i % nH; C[i].xid_next = C[i].xid_expect = 1; }
  if (!strcmp(O.mode, "throughput") || !strcmp(O.mode, "latency")) mode_throughput();
  else if (!strcmp(O.mode, "watch")) mode_watch();
  else if (!strcmp(O.mode, "sessions")) mode_sessions();
  else if (!strcmp(O.mode, "fill")) mode_fill();
  else if (!strcmp(O.mode, "failover")) mode_failover();
  else if (!strcmp(O.mode, "probe")) mode_probe();
  else usage();
  return 0;
}
