/* stub.c - a fast OpenAI-compatible upstream stand-in for benchmarks and fault tests.
 *
 *   cc -O2 -pthread -o stub stub.c && ./stub --port 9100 --latency-ms 200      (bench/build.py does it)
 *
 * Answers  POST .../chat/completions  .../completions  .../embeddings   GET .../models
 * Control  GET /stats  /reset  /set?latency_ms=..&p429=..   /dups?limit=N   /missing?n=N   /health
 *
 * A request body may carry a marker [[123]]; the stub counts hits and 200-answers per marker and puts
 * the same marker in the answer, so lost, repeated and mixed-up lines are all visible afterwards.
 * Latency is a timer (no thread is held), errors are drawn from a seeded generator. first_s and last_s in /stats
 * are CLOCK_MONOTONIC seconds, which other processes on the machine share.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    double latency_ms, jitter_ms, tok_ms;   /* service time = latency +- jitter + tok_ms * tokens */
    double p429, p500, p503, pdrop, phang, pbadjson;
    double retry_after;                     /* seconds, sent with 429/503 when >= 0 */
    long max_inflight;                      /* 0 = no limit */
    int queue;                              /* over the limit: 0 = answer 429, 1 = wait for a slot */
    long tokens, dim;
    long bad_mod;                           /* marker % bad_mod == 0  -> 400 for ever */
    long flaky_mod, flaky_code, flaky_n;    /* marker % flaky_mod == 0 -> flaky_code, flaky_n times */
    long sse_events;                        /* > 0: an answer asked for as a stream has so many content events, each in */
    double sse_gap_ms;                      /* its own piece, so far apart; 0: the whole stream in one piece */
    int gauge;                              /* 1: GET /metrics tells how many are in work and wait, as llama.cpp does */
    int need_key;                           /* 1: 401 without an Authorization header */
} Cfg;
static Cfg cfg = {.retry_after = 1, .tokens = 16, .dim = 64, .flaky_code = 500, .flaky_n = 1};
static int port = 9100, nthreads = 1, backlog = 4096;
static uint64_t seed = 42;

#define MAXID 4000000
static _Atomic uint16_t *hits, *oks;
static atomic_long st_req, st_ok, st_429, st_5xx, st_4xx, st_drop, st_conn, st_open, st_inflight, st_maxin,
    st_bytes_in, st_bytes_out, st_auth, st_queued;
static _Atomic int64_t st_first, st_last, st_busy_ns;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

typedef struct { char *p; size_t n, cap; } Buf;
static void need(Buf *b, size_t more) {
    if (b->n + more <= b->cap) return;
    size_t c = b->cap ? b->cap : 4096;
    while (c < b->n + more) c *= 2;
    b->p = realloc(b->p, c);
    if (!b->p) abort();
    b->cap = c;
}
static void put(Buf *b, const char *s, size_t n) { need(b, n); memcpy(b->p + b->n, s, n); b->n += n; }
static void puts_(Buf *b, const char *s) { put(b, s, strlen(s)); }
static void putf(Buf *b, const char *f, ...) {
    va_list a;
    need(b, 1024);
    va_start(a, f);
    int n = vsnprintf(b->p + b->n, 1024, f, a);
    va_end(a);
    if (n > 1023) n = 1023;
    b->n += n;
}

enum { K_CHAT, K_TEXT, K_EMB, K_MODELS, K_CTL, K_NONE };
typedef struct Conn {
    int fd, waiting, closing, counted, hung, want_out;
    uint32_t gen;
    Buf in, out;
    size_t sent;
    /* the request under way */
    int kind, status, stream, n_inputs, b64, drop, badjson;
    long id, in_len;
    long events, event;                     /* of a stream sent piece by piece: how many, the next one; 0: no such stream */
    unsigned long long seq;
    int64_t t0, t_first;
    char model[128];
    struct Conn *qnext;
} Conn;
typedef struct { int64_t at; Conn *c; uint32_t gen; } Timer;
typedef struct {
    int ep, lfd;
    Timer *h; size_t hn, hcap;
    uint64_t rng, seq;
    Conn *qhead, *qtail;
    Conn **dead; size_t ndead, capdead;
    Conn *freelist;
} Loop;

static double rnd(Loop *l) {
    l->rng ^= l->rng << 13; l->rng ^= l->rng >> 7; l->rng ^= l->rng << 17;
    return (double)(l->rng >> 11) / 9007199254740992.0;
}
static void tpush(Loop *l, int64_t at, Conn *c) {
    if (l->hn == l->hcap) { l->hcap = l->hcap ? l->hcap * 2 : 1024; l->h = realloc(l->h, l->hcap * sizeof(Timer)); }
    size_t i = l->hn++;
    while (i) {
        size_t p = (i - 1) / 2;
        if (l->h[p].at <= at) break;
        l->h[i] = l->h[p];
        i = p;
    }
    l->h[i] = (Timer){at, c, c->gen};
}
static Timer tpop(Loop *l) {
    Timer top = l->h[0], x = l->h[--l->hn];
    size_t i = 0;
    for (;;) {
        size_t k = 2 * i + 1;
        if (k >= l->hn) break;
        if (k + 1 < l->hn && l->h[k + 1].at < l->h[k].at) k++;
        if (x.at <= l->h[k].at) break;
        l->h[i] = l->h[k];
        i = k;
    }
    if (l->hn) l->h[i] = x;
    return top;
}

/* ---- small readers over the raw body: enough for benchmarks, not a JSON parser ---- */
static const char *after_key(const char *b, size_t n, const char *key) {
    const char *p = memmem(b, n, key, strlen(key));
    if (!p) return NULL;
    p += strlen(key);
    const char *e = b + n;
    while (p < e && (*p == ' ' || *p == ':' || *p == '\n')) p++;
    return p < e ? p : NULL;
}
static long marker(const char *b, size_t n) {
    const char *e = b + n, *p = b;
    while ((p = memmem(p, e - p, "[[", 2))) {
        p += 2;
        long v = 0; int k = 0;
        while (p < e && isdigit((unsigned char)*p) && k < 10) { v = v * 10 + (*p++ - '0'); k++; }
        if (k && p + 1 < e && p[0] == ']' && p[1] == ']') return v;
    }
    return -1;
}
static int count_inputs(const char *p, const char *e) {
    if (!p || *p != '[') return 1;
    p++;
    while (p < e && isspace((unsigned char)*p)) p++;
    if (p < e && *p != '"' && *p != '[') return 1;          /* one list of token numbers */
    int n = 0, depth = 0, str = 0;
    for (; p < e; p++) {
        if (str) { if (*p == '\\') p++; else if (*p == '"') { str = 0; if (!depth) n++; } }
        else if (*p == '"') str = 1;
        else if (*p == '[') depth++;
        else if (*p == ']') { if (!depth) break; if (!--depth) n++; }
    }
    return n ? n : 1;
}

static char *words; static size_t nwords;                    /* filler text, built once */
static void finish(Buf *o, size_t mark, int status, const char *extra, const char *ctype, Buf *body) {
    (void)mark;
    const char *why = status == 200 ? "OK" : status == 429 ? "Too Many Requests" : status == 400 ? "Bad Request" :
        status == 401 ? "Unauthorized" : status == 404 ? "Not Found" : status == 503 ? "Service Unavailable" : "Internal Server Error";
    putf(o, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%sContent-Length: %zu\r\n\r\n", status, why, ctype, extra, body->n);
    put(o, body->p, body->n);
}

static const char STREAM_HEAD[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
static void put_event(Buf *b, Conn *c, long k, long n) {     /* the k-th of n content events; k == n: the one that stops */
    if (c->kind == K_CHAT)
        putf(b, "data: {\"id\":\"chatcmpl-%llx\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"%s\",\"choices\":[{\"index\":0,\"delta\":{%s},\"finish_reason\":%s}]}\n\n",
             c->seq, c->model, k < n ? (k ? "\"content\":\" word\"" : "\"role\":\"assistant\",\"content\":\"word\"") : "", k < n ? "null" : "\"stop\"");
    else
        putf(b, "data: {\"id\":\"cmpl-%llx\",\"object\":\"text_completion\",\"created\":1700000000,\"model\":\"%s\",\"choices\":[{\"index\":0,\"text\":\"%s\",\"finish_reason\":%s}]}\n\n",
             c->seq, c->model, k < n ? " word" : "", k < n ? "null" : "\"stop\"");
}
static void put_end(Buf *b, Conn *c, long n) {               /* what follows n content events */
    long ptok = c->in_len / 4 + 1;
    put_event(b, c, n, n);
    putf(b, "data: {\"id\":\"chatcmpl-%llx\",\"object\":\"%s\",\"created\":1700000000,\"model\":\"%s\",\"choices\":[],\"usage\":{\"prompt_tokens\":%ld,\"completion_tokens\":%ld,\"total_tokens\":%ld}}\n\ndata: [DONE]\n\n",
         c->seq, c->kind == K_CHAT ? "chat.completion.chunk" : "text_completion", c->model, ptok, n, ptok + n);
}

static void respond(Loop *l, Conn *c) {
    static __thread Buf b;
    char extra[64] = "";
    b.n = 0;
    long toks = cfg.tokens, ptok = c->in_len / 4 + 1;
    if (c->status != 200) {
        const char *type = c->status == 429 ? "rate_limit_error" : c->status >= 500 ? "server_error" : "invalid_request_error";
        putf(&b, "{\"error\":{\"message\":\"stub says %d\",\"type\":\"%s\",\"param\":null,\"code\":\"stub_%d\"}}", c->status, type, c->status);
        if ((c->status == 429 || c->status == 503) && cfg.retry_after >= 0) snprintf(extra, sizeof extra, "Retry-After: %g\r\n", cfg.retry_after);
    } else if (c->badjson) {
        puts_(&b, "{\"id\":\"chatcmpl-broken\",\"choices\":[{\"mess");
    } else if (c->kind == K_EMB) {
        putf(&b, "{\"object\":\"list\",\"model\":\"%s\",\"data\":[", c->model);
        for (int i = 0; i < c->n_inputs; i++) {
            putf(&b, "%s{\"object\":\"embedding\",\"index\":%d,\"embedding\":", i ? "," : "", i);
            if (c->b64) {
                size_t len = (cfg.dim * 4 + 2) / 3 * 4, padn = (3 - cfg.dim * 4 % 3) % 3;
                puts_(&b, "\"");
                need(&b, len);
                memset(b.p + b.n, 'A', len);
                for (size_t k = 0; k < padn; k++) b.p[b.n + len - 1 - k] = '=';
                b.n += len;
                puts_(&b, "\"}");
            } else {
                puts_(&b, "[");
                for (long k = 0; k < cfg.dim; k++) puts_(&b, k ? ",0.0123456789" : "0.0123456789");
                puts_(&b, "]}");
            }
        }
        putf(&b, "],\"usage\":{\"prompt_tokens\":%ld,\"total_tokens\":%ld}}", ptok, ptok);
    } else if (c->stream) {
        Buf *o = &c->out;
        puts_(o, STREAM_HEAD);
        c->seq = l->seq;
        for (long k = 0; k < toks; k++) put_event(&b, c, k, toks);
        put_end(&b, c, toks);
        putf(o, "%zx\r\n", b.n);
        put(o, b.p, b.n);
        puts_(o, "\r\n0\r\n\r\n");
        l->seq++;
        goto counted;
    } else {
        size_t w = (size_t)toks * 5 < nwords ? (size_t)toks * 5 : nwords;
        if (c->kind == K_CHAT)
            putf(&b, "{\"id\":\"chatcmpl-%016llx\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"%s\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"[[%ld]]",
                 (unsigned long long)l->seq++, c->model, c->id);
        else
            putf(&b, "{\"id\":\"cmpl-%016llx\",\"object\":\"text_completion\",\"created\":1700000000,\"model\":\"%s\",\"choices\":[{\"index\":0,\"text\":\"[[%ld]]",
                 (unsigned long long)l->seq++, c->model, c->id);
        put(&b, words, w);
        putf(&b, c->kind == K_CHAT ? "\",\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":%ld,\"completion_tokens\":%ld,\"total_tokens\":%ld}}"
                                   : "\",\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":%ld,\"completion_tokens\":%ld,\"total_tokens\":%ld}}", ptok, toks, ptok + toks);
    }
    finish(&c->out, 0, c->status, extra, "application/json", &b);
counted:
    if (c->status == 200) { st_ok++; if (c->id >= 0 && c->id < MAXID) oks[c->id]++; }
    else if (c->status == 429) st_429++;
    else if (c->status >= 500) st_5xx++;
    else st_4xx++;
}

static void leave(Loop *l, Conn *c);
static void pump(Loop *l, Conn *c);
static void kill_conn(Loop *l, Conn *c) {
    if (c->fd < 0) return;
    close(c->fd);
    c->fd = -1;
    c->gen++;
    st_open--;
    leave(l, c);
    if (l->ndead == l->capdead) { l->capdead = l->capdead ? l->capdead * 2 : 256; l->dead = realloc(l->dead, l->capdead * sizeof(Conn *)); }
    l->dead[l->ndead++] = c;
}
static void flush(Loop *l, Conn *c) {
    while (c->sent < c->out.n) {
        ssize_t k = send(c->fd, c->out.p + c->sent, c->out.n - c->sent, MSG_NOSIGNAL);
        if (k < 0) {
            if (errno == EAGAIN) {
                if (!c->want_out) { struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP, .data.ptr = c}; epoll_ctl(l->ep, EPOLL_CTL_MOD, c->fd, &ev); c->want_out = 1; }
                return;
            }
            kill_conn(l, c);
            return;
        }
        c->sent += k;
        st_bytes_out += k;
    }
    c->out.n = c->sent = 0;
    if (c->want_out) { struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = c}; epoll_ctl(l->ep, EPOLL_CTL_MOD, c->fd, &ev); c->want_out = 0; }
    if (c->closing && !c->events) kill_conn(l, c);
}
static void step(Loop *l, Conn *c) {                         /* the next piece of a stream sent piece by piece */
    static __thread Buf b;
    b.n = 0;
    if (!c->event) { puts_(&c->out, STREAM_HEAD); c->t_first = now_ns(); c->seq = l->seq++; }
    int last = c->event == c->events;
    if (last) put_end(&b, c, c->events);
    else put_event(&b, c, c->event, c->events);
    putf(&c->out, "%zx\r\n", b.n);
    put(&c->out, b.p, b.n);
    puts_(&c->out, last ? "\r\n0\r\n\r\n" : "\r\n");
    c->waiting = !last;
    if (last) {
        c->events = 0;
        st_ok++;
        if (c->id >= 0 && c->id < MAXID) oks[c->id]++;
        leave(l, c);
    } else tpush(l, c->t_first + (int64_t)(++c->event * cfg.sse_gap_ms * 1e6), c);
    flush(l, c);
}
static void arm(Loop *l, Conn *c) {
    double ms = cfg.latency_ms + (cfg.jitter_ms ? (rnd(l) * 2 - 1) * cfg.jitter_ms : 0) + cfg.tok_ms * cfg.tokens;
    c->t0 = now_ns();
    c->event = 0;
    c->events = c->stream && c->status == 200 && c->kind != K_EMB && !c->drop && !c->badjson ? cfg.sse_events : 0;
    if (!c->counted) {
        c->counted = 1;
        long v = ++st_inflight, m = st_maxin;
        while (v > m && !atomic_compare_exchange_weak(&st_maxin, &m, v)) ;
    }
    if (ms <= 0) {
        if (c->events) { step(l, c); return; }
        c->waiting = 0;
        leave(l, c);
        if (c->drop) { st_drop++; kill_conn(l, c); return; }
        respond(l, c);
        return;
    }
    c->waiting = 1;
    tpush(l, c->t0 + (int64_t)(ms * 1e6), c);
}
static void leave(Loop *l, Conn *c) {
    if (!c->counted) return;
    c->counted = 0;
    st_inflight--;
    int64_t t = now_ns();
    st_busy_ns += t - c->t0;
    st_last = t;
    while (cfg.queue && l->qhead && (!cfg.max_inflight || st_inflight < cfg.max_inflight)) {
        Conn *q = l->qhead;
        l->qhead = q->qnext;
        if (!l->qhead) l->qtail = NULL;
        st_queued--;
        if (q->fd < 0) { q->qnext = NULL; q->waiting = 0; continue; }
        q->qnext = NULL;
        arm(l, q);
        if (!q->waiting) { flush(l, q); if (q->fd >= 0) pump(l, q); }
    }
}
static void done(Loop *l, Conn *c) {                         /* timer fired */
    if (c->events) {
        step(l, c);
        if (c->fd >= 0) pump(l, c);
        return;
    }
    c->waiting = 0;
    leave(l, c);
    if (c->drop) { st_drop++; kill_conn(l, c); return; }
    respond(l, c);
    flush(l, c);
    if (c->fd >= 0) pump(l, c);
}

static double qval(const char *q, const char *k, double dflt) {
    char pat[48];
    snprintf(pat, sizeof pat, "%s=", k);
    const char *p = strstr(q, pat);
    if (!p || (p != q && p[-1] != '?' && p[-1] != '&')) return dflt;
    return atof(p + strlen(pat));
}
static void set_cfg(const char *q) {
#define D(f) cfg.f = qval(q, #f, cfg.f)
    D(latency_ms); D(jitter_ms); D(tok_ms); D(p429); D(p500); D(p503); D(pdrop); D(phang); D(pbadjson); D(retry_after);
    D(max_inflight); D(queue); D(tokens); D(dim); D(bad_mod); D(flaky_mod); D(flaky_code); D(flaky_n); D(need_key); D(gauge); D(sse_events); D(sse_gap_ms);
#undef D
    if (cfg.sse_events < 0) cfg.sse_events = 0;
    if ((size_t)cfg.tokens * 5 > nwords) cfg.tokens = nwords / 5;
}
static void control(Conn *c, const char *path) {
    static __thread Buf b;
    b.n = 0;
    int status = 200;
    if (!strncmp(path, "/reset", 6)) {
        for (long i = 0; i < MAXID; i++) if (hits[i] || oks[i]) { hits[i] = 0; oks[i] = 0; }
        st_req = st_ok = st_429 = st_5xx = st_4xx = st_drop = st_conn = st_bytes_in = st_bytes_out = st_auth = 0;
        st_maxin = st_inflight;
        st_first = st_last = st_busy_ns = 0;
        puts_(&b, "{}");
    } else if (!strncmp(path, "/set", 4)) {
        set_cfg(path);
        puts_(&b, "{}");
    } else if (!strncmp(path, "/dups", 5) || !strncmp(path, "/missing", 8)) {
        long lim = (long)qval(path, "limit", 100), n = (long)qval(path, "n", 0);
        int miss = path[1] == 'm';
        puts_(&b, "[");
        for (long i = 0, k = 0; i < (miss ? n : MAXID) && k < lim; i++)
            if (miss ? !oks[i] : oks[i] > 1) { if (miss) putf(&b, "%s%ld", k ? "," : "", i); else putf(&b, "%s[%ld,%d]", k ? "," : "", i, (int)oks[i]); k++; }
        puts_(&b, "]");
    } else if (!strncmp(path, "/stats", 6)) {
        long dist = 0, dist_ok = 0, dup = 0, extra_ok = 0;
        for (long i = 0; i < MAXID; i++) { if (hits[i]) dist++; if (oks[i]) dist_ok++; if (oks[i] > 1) { dup++; extra_ok += oks[i] - 1; } }
        double span = (st_last - st_first) / 1e9;
        putf(&b, "{\"requests\":%ld,\"ok\":%ld,\"r429\":%ld,\"r5xx\":%ld,\"r4xx\":%ld,\"dropped\":%ld,\"connections\":%ld,\"open\":%ld,\"inflight\":%ld,\"queued\":%ld,\"max_inflight\":%ld,",
             st_req, st_ok, st_429, st_5xx, st_4xx, st_drop, st_conn, st_open, st_inflight, st_queued, st_maxin);
        putf(&b, "\"avg_inflight\":%.2f,\"span_s\":%.4f,\"first_s\":%.6f,\"last_s\":%.6f,\"bytes_in\":%ld,\"bytes_out\":%ld,\"with_auth\":%ld,\"ids_seen\":%ld,\"ids_ok\":%ld,\"ids_ok_twice\":%ld,\"extra_ok\":%ld}",
             span > 0 ? st_busy_ns / 1e9 / span : 0, span, st_first / 1e9, st_last / 1e9, st_bytes_in, st_bytes_out, st_auth, dist, dist_ok, dup, extra_ok);
    } else if (cfg.gauge && !strncmp(path, "/metrics", 8)) {
        putf(&b, "# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing %ld\n", st_inflight);
        putf(&b, "# TYPE llamacpp:requests_deferred gauge\nllamacpp:requests_deferred %ld\n", st_queued);
    } else if (!strncmp(path, "/health", 7)) puts_(&b, "{\"status\":\"ok\"}");
    else { status = 404; puts_(&b, "{\"error\":{\"message\":\"no such path\",\"type\":\"invalid_request_error\",\"code\":\"not_found\"}}"); }
    finish(&c->out, 0, status, "", "application/json", &b);
}

static void pump(Loop *l, Conn *c) {
    while (c->fd >= 0 && !c->waiting && !c->hung) {
        char *s = c->in.p;
        size_t n = c->in.n;
        if (!n) break;
        char *he = memmem(s, n, "\r\n\r\n", 4);
        if (!he) { if (n > 65536) kill_conn(l, c); break; }
        size_t hl = he - s + 4, total;
        char save = s[hl - 1];
        s[hl - 1] = 0;
        char *cl = strcasestr(s, "\r\ncontent-length:"), *te = strcasestr(s, "\r\ntransfer-encoding: chunked");
        char *body = s + hl;
        size_t blen = 0;
        if (te) {                                           /* unchunk into place once it is all here */
            s[hl - 1] = save;
            char *p = body, *e = s + n, *w = body;
            int fin = 0;
            static __thread Buf tmp;
            tmp.n = 0;
            for (;;) {
                char *nl = memmem(p, e - p, "\r\n", 2);
                if (!nl) break;
                size_t k = strtoul(p, NULL, 16);
                p = nl + 2;
                if ((size_t)(e - p) < k + 2) break;
                if (!k) { p += 2; fin = 1; break; }
                put(&tmp, p, k);
                p += k + 2;
            }
            if (!fin) { if (strcasestr(s, "expect: 100-continue") && n == hl) { puts_(&c->out, "HTTP/1.1 100 Continue\r\n\r\n"); flush(l, c); } break; }
            total = p - s;
            blen = tmp.n;
            if (blen) memmove(w, tmp.p, blen);
            s[hl - 1] = 0;
        } else {
            if (cl) blen = strtoul(cl + 17, NULL, 10);
            total = hl + blen;
            if (n < total) {
                int ex = n == hl && strcasestr(s, "expect: 100-continue") != NULL;
                s[hl - 1] = save;
                if (ex) { puts_(&c->out, "HTTP/1.1 100 Continue\r\n\r\n"); flush(l, c); }
                break;
            }
        }
        char *path = strchr(s, ' '), *pe = path ? strchr(path + 1, ' ') : NULL;
        if (!pe) { kill_conn(l, c); break; }
        *pe = 0;
        path++;
        if (strncasecmp(pe + 1, "HTTP/1.0", 8) == 0 || strcasestr(pe + 1, "\r\nconnection: close")) c->closing = 1;
        int kind = K_CTL;
        if (*s == 'P') kind = strstr(path, "/chat/completions") ? K_CHAT : strstr(path, "/completions") ? K_TEXT : strstr(path, "/embeddings") ? K_EMB : K_CTL;
        else if (strstr(path, "/models")) kind = K_MODELS;
        if (kind == K_CTL) control(c, path);
        else if (kind == K_MODELS) {
            Buf b = {0};
            puts_(&b, "{\"object\":\"list\",\"data\":[{\"id\":\"stub-model\",\"object\":\"model\",\"created\":1700000000,\"owned_by\":\"stub\"},{\"id\":\"stub-embed\",\"object\":\"model\",\"created\":1700000000,\"owned_by\":\"stub\"}]}");
            finish(&c->out, 0, 200, "", "application/json", &b);
            free(b.p);
        } else {
            int64_t t = now_ns(), z = 0;
            atomic_compare_exchange_strong(&st_first, &z, t);
            st_last = t;
            st_req++;
            st_bytes_in += total;
            int auth = strcasestr(pe + 1, "\r\nauthorization:") != NULL;
            if (auth) st_auth++;
            c->kind = kind;
            c->status = 200;
            c->drop = c->badjson = 0;
            c->in_len = blen;
            c->id = marker(body, blen);
            c->stream = 0;
            const char *p = after_key(body, blen, "\"stream\"");
            if (p && *p == 't') c->stream = 1;
            strcpy(c->model, "stub-model");
            p = after_key(body, blen, "\"model\"");
            if (p && *p == '"') { size_t k = 0; for (p++; p < body + blen && *p != '"' && k < sizeof c->model - 1; p++) c->model[k++] = *p; c->model[k] = 0; }
            if (kind == K_EMB) { c->n_inputs = count_inputs(after_key(body, blen, "\"input\""), body + blen); c->b64 = memmem(body, blen, "\"base64\"", 8) != NULL; }
            int hit = 0;
            if (c->id >= 0 && c->id < MAXID) hit = ++hits[c->id];
            if (cfg.need_key && !auth) c->status = 401;
            else if (cfg.bad_mod && c->id >= 0 && c->id % cfg.bad_mod == 0) c->status = 400;
            else if (cfg.flaky_mod && c->id >= 0 && c->id % cfg.flaky_mod == 0 && hit <= cfg.flaky_n) c->status = cfg.flaky_code;
            else if (cfg.p429 + cfg.p500 + cfg.p503 + cfg.pdrop + cfg.phang + cfg.pbadjson > 0) {
                double r = rnd(l);
                if ((r -= cfg.p429) < 0) c->status = 429;
                else if ((r -= cfg.p500) < 0) c->status = 500;
                else if ((r -= cfg.p503) < 0) c->status = 503;
                else if ((r -= cfg.pdrop) < 0) c->drop = 1;
                else if ((r -= cfg.phang) < 0) c->hung = 1;
                else if ((r -= cfg.pbadjson) < 0) c->badjson = 1;
            }
            if (c->hung) ;                                   /* never answered; the client must give up */
            else if (c->status == 429 || c->status == 400 || c->status == 401) respond(l, c);   /* refused at once */
            else if (cfg.max_inflight && st_inflight >= cfg.max_inflight) {
                if (cfg.queue) { c->waiting = 1; c->qnext = NULL; if (l->qtail) l->qtail->qnext = c; else l->qhead = c; l->qtail = c; st_queued++; }
                else { c->status = 429; respond(l, c); }
            } else arm(l, c);
        }
        if (c->fd < 0) break;
        if (c->in.n > total) { memmove(c->in.p, c->in.p + total, c->in.n - total); c->in.n -= total; }
        else c->in.n = 0;
        if (c->closing && !c->waiting) break;
    }
    if (c->fd >= 0 && c->out.n) flush(l, c);
}

static void *run(void *arg) {
    Loop L = {0}, *l = &L;
    l->rng = seed * 0x9E3779B97F4A7C15ull + (uintptr_t)arg * 7919 + 1;
    l->seq = (uint64_t)(uintptr_t)arg << 48;
    l->lfd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int one = 1;
    setsockopt(l->lfd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(l->lfd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(l->lfd, (void *)&a, sizeof a) || listen(l->lfd, backlog)) { perror("stub: bind"); exit(1); }
    l->ep = epoll_create1(0);
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL}, evs[512];
    epoll_ctl(l->ep, EPOLL_CTL_ADD, l->lfd, &ev);
    for (;;) {
        struct timespec ts, *tp = NULL;
        if (l->hn) {
            int64_t d = l->h[0].at - now_ns();
            if (d < 0) d = 0;
            ts = (struct timespec){d / 1000000000, d % 1000000000};
            tp = &ts;
        }
        int k = epoll_pwait2(l->ep, evs, 512, tp, NULL);
        for (int i = 0; i < k; i++) {
            Conn *c = evs[i].data.ptr;
            if (!c) {
                for (int fd; (fd = accept4(l->lfd, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
                    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                    c = calloc(1, sizeof *c);
                    c->fd = fd;
                    st_conn++;
                    st_open++;
                    struct epoll_event e2 = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = c};
                    epoll_ctl(l->ep, EPOLL_CTL_ADD, fd, &e2);
                }
                continue;
            }
            if (c->fd < 0) continue;
            if (evs[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
                int eof = 0;
                for (;;) {
                    need(&c->in, 16384);
                    size_t room = c->in.cap - c->in.n;
                    ssize_t r = recv(c->fd, c->in.p + c->in.n, room, 0);
                    if (r > 0) { c->in.n += r; if ((size_t)r < room) break; continue; }
                    if (r == 0 || errno != EAGAIN) eof = 1;
                    break;
                }
                if (eof || (evs[i].events & (EPOLLHUP | EPOLLERR))) { kill_conn(l, c); continue; }
                pump(l, c);
            }
            if (c->fd >= 0 && (evs[i].events & EPOLLOUT)) flush(l, c);
        }
        int64_t t = l->hn ? now_ns() : 0;
        while (l->hn && l->h[0].at <= t) {
            Timer x = tpop(l);
            if (x.c->fd >= 0 && x.c->gen == x.gen) done(l, x.c);
        }
        /* a Conn stays allocated (buffers freed) while a timer or the queue may still name it */
        for (size_t i = 0; i < l->ndead; i++) { free(l->dead[i]->in.p); free(l->dead[i]->out.p); l->dead[i]->in = l->dead[i]->out = (Buf){0}; }
        l->ndead = 0;
    }
    return NULL;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    nwords = 5 * 100000;
    words = malloc(nwords + 1);
    for (size_t i = 0; i < nwords; i += 5) memcpy(words + i, " word", 5);
    char q[4096] = "";
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--port")) port = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--threads")) nthreads = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--seed")) seed = atoll(argv[i + 1]);
        else if (!strncmp(argv[i], "--", 2)) {
            char k[64];
            snprintf(k, sizeof k, "%s", argv[i] + 2);
            for (char *p = k; *p; p++) if (*p == '-') *p = '_';
            snprintf(q + strlen(q), sizeof q - strlen(q), "&%s=%s", k, argv[i + 1]);
        } else { fprintf(stderr, "usage: stub [--port N] [--threads N] [--seed N] [--latency-ms F] [--jitter-ms F] [--tok-ms F] [--tokens N] [--dim N] [--p429 F] [--p500 F] [--p503 F] [--pdrop F] [--phang F] [--pbadjson F] [--retry-after S] [--max-inflight N] [--queue 0|1] [--bad-mod N] [--flaky-mod N --flaky-code N --flaky-n N] [--need-key 0|1] [--gauge 0|1] [--sse-events N] [--sse-gap-ms F]\n"); return 2; }
    }
    if (nthreads < 1) nthreads = 1;
    set_cfg(q);
    if (cfg.queue && nthreads > 1) { fprintf(stderr, "stub: --queue 1 needs --threads 1\n"); return 2; }
    hits = calloc(MAXID, sizeof *hits);
    oks = calloc(MAXID, sizeof *oks);
    fprintf(stderr, "stub: 127.0.0.1:%d, %d thread(s), pid %d\n", port, nthreads, getpid());
    for (int i = 1; i < nthreads; i++) { pthread_t t; pthread_create(&t, NULL, run, (void *)(intptr_t)i); }
    run((void *)0);
}
