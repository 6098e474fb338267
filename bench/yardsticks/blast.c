/* blast.c - the physical ceiling: one thread, epoll, N keep-alive connections, file in -> result lines out.
 *   cc -O2 -o blast blast.c && ./blast in.jsonl out.jsonl http://127.0.0.1:9100 256 [KEY]
 * Prints {"n","wall_s","rate","p50_ms","p95_ms","p99_ms","bad"}: bad counts answers other than 200.
 * Slices "body" and "custom_id" out of each input line (expects the layout that bench/lines.py writes). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct { int fd; size_t n, cap; char *in; const char *cid; int cidn; double t0; } C;
static const char *cur, *end;
static int ep;
static FILE *out;
static long live, n, bad, room;
static double *took;
static const char *key = "";

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static void count(C *c, int ok) {
    if (n == room) took = realloc(took, (room = room ? room * 2 : 4096) * sizeof *took);
    took[n++] = now() - c->t0;
    bad += !ok;
}

static void next(C *c) {
    while (cur < end && *cur == '\n') cur++;
    if (cur >= end) { close(c->fd); c->fd = -1; live--; return; }
    const char *nl = memchr(cur, '\n', end - cur);
    if (!nl) nl = end;
    const char *id = (char *)memmem(cur, nl - cur, "\"custom_id\": \"", 14) + 14;
    const char *idend = memchr(id, '"', nl - id);
    const char *url = (char *)memmem(idend, nl - idend, "\"url\": \"", 8) + 8;
    const char *urlend = memchr(url, '"', nl - url);
    const char *body = (char *)memmem(urlend, nl - urlend, "\"body\": ", 8) + 8;
    size_t bn = nl - 1 - body;
    char h[512];
    static char req[1 << 20];
    int k = snprintf(h, sizeof h, "POST %.*s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n", (int)(urlend - url), url, key, bn);
    c->t0 = now();
    memcpy(req, h, k);
    memcpy(req + k, body, bn);
    if (write(c->fd, req, k + bn) != (ssize_t)(k + bn)) { perror("write"); exit(1); }
    c->cid = id;
    c->cidn = idend - id;
    c->n = 0;
    cur = nl + 1;
}
int main(int argc, char **argv) {
    if (argc < 5) return 2;
    static char auth[256];
    if (argc > 5) { snprintf(auth, sizeof auth, "Authorization: Bearer %s\r\n", argv[5]); key = auth; }
    int fd = open(argv[1], O_RDONLY), conc = atoi(argv[4]);
    struct stat st;
    fstat(fd, &st);
    cur = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    end = cur + st.st_size;
    out = fopen(argv[2], "w");
    setvbuf(out, NULL, _IOFBF, 1 << 20);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(strrchr(argv[3], ':') + 1)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ep = epoll_create1(0);
    C *cs = calloc(conc, sizeof *cs);
    for (int i = 0; i < conc; i++) {
        int one = 1;
        cs[i].fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(cs[i].fd, (void *)&a, sizeof a)) { perror("connect"); return 1; }
        setsockopt(cs[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &cs[i]};
        epoll_ctl(ep, EPOLL_CTL_ADD, cs[i].fd, &ev);
        cs[i].in = malloc(cs[i].cap = 65536);
        live++;
    }
    double began = now();
    for (int i = 0; i < conc; i++) next(&cs[i]);
    struct epoll_event evs[512];
    while (live > 0) {
        int k = epoll_wait(ep, evs, 512, -1);
        for (int i = 0; i < k; i++) {
            C *c = evs[i].data.ptr;
            if (c->fd < 0) continue;
            if (c->cap - c->n < 16384) c->in = realloc(c->in, c->cap *= 2);
            ssize_t r = recv(c->fd, c->in + c->n, c->cap - c->n - 1, MSG_DONTWAIT);
            if (r <= 0) { if (r < 0 && errno == EAGAIN) continue; fprintf(stderr, "connection lost\n"); return 1; }
            c->in[c->n += r] = 0;
            char *h = memmem(c->in, c->n, "\r\n\r\n", 4), *l = h ? strcasestr(c->in, "\r\ncontent-length: ") : NULL;
            if (!h || !l) continue;
            size_t bl = strtoul(l + 18, NULL, 10), hl = h - c->in + 4;
            if (c->n < hl + bl) continue;
            count(c, !memcmp(c->in + 9, "200", 3));
            fprintf(out, "{\"id\":\"r-%.*s\",\"custom_id\":\"%.*s\",\"response\":{\"status_code\":%.3s,\"body\":", c->cidn, c->cid, c->cidn, c->cid, c->in + 9);
            fwrite(c->in + hl, 1, bl, out);
            fputs("},\"error\":null}\n", out);
            next(c);
        }
    }
    double wall = now() - began;
    fclose(out);
    qsort(took, n, sizeof *took, by_size);
    printf("{\"n\":%ld,\"wall_s\":%.4f,\"rate\":%.1f,\"p50_ms\":%.4f,\"p95_ms\":%.4f,\"p99_ms\":%.4f,\"bad\":%ld}\n", n, wall, n / wall, n ? took[n / 2] * 1e3 : 0, n ? took[n * 95 / 100] * 1e3 : 0, n ? took[n * 99 / 100] * 1e3 : 0, bad);
    return 0;
}
