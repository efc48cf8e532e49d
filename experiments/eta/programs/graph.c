/* Breadth-first searches from ten starts on a random graph with hubs, then five rounds of label propagation. */
#include <stdlib.h>
#include <stdint.h>
#include <stdio.h>
static uint64_t s = 42424242;
static uint64_t rnd(void) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s; }
int main(void) {
    enum { N = 120000, M = 600000 };
    int *head = malloc(sizeof(int) * (N + 1)), *to = malloc(sizeof(int) * M), *from = malloc(sizeof(int) * M), *dest = malloc(sizeof(int) * M);
    for (int i = 0; i <= N; i++) head[i] = 0;
    for (int i = 0; i < M; i++) { double u = (rnd() >> 11) * 0x1p-53; from[i] = rnd() % N; dest[i] = (int)(N * u * u); head[from[i] + 1]++; }
    for (int i = 0; i < N; i++) head[i + 1] += head[i];
    int *at = malloc(sizeof(int) * N); for (int i = 0; i < N; i++) at[i] = head[i];
    for (int i = 0; i < M; i++) to[at[from[i]]++] = dest[i];
    free(from); free(dest); free(at);
    int *dist = malloc(sizeof(int) * N), *queue = malloc(sizeof(int) * N); long sum = 0;
    for (int start = 0; start < 10; start++) {
        for (int i = 0; i < N; i++) dist[i] = -1;
        int a = 0, b = 0; queue[b++] = start * 11111; dist[queue[0]] = 0;
        while (a < b) { int v = queue[a++]; for (int e = head[v]; e < head[v + 1]; e++) if (dist[to[e]] < 0) { dist[to[e]] = dist[v] + 1; queue[b++] = to[e]; } }
        sum += b;
    }
    for (int round = 0; round < 5; round++)
        for (int v = 0; v < N; v++) { int best = dist[v]; for (int e = head[v]; e < head[v + 1]; e++) if (dist[to[e]] > best) best = dist[to[e]]; dist[v] = best; }
    for (int v = 0; v < N; v++) sum += dist[v];
    printf("%ld\n", sum);
}
