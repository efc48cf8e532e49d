/* A hash join with Zipf-like keys, then a sort of the result by rank, three rounds. */
#include <stdlib.h>
#include <stdint.h>
#include <stdio.h>
static uint64_t s = 88172645463325252ull;
static uint64_t rnd(void) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s; }
typedef struct { uint32_t key, value; } Row;
static int by_value(const void *a, const void *b) { uint32_t x = ((Row *)a)->value, y = ((Row *)b)->value; return (x > y) - (x < y); }
int main(void) {
    enum { BUILD = 200000, PROBE = 700000, SLOTS = 1 << 19 };
    Row *build = malloc(BUILD * sizeof *build), *table = calloc(SLOTS, sizeof *table), *probe = malloc(PROBE * sizeof *probe);
    Row *out = malloc(PROBE * sizeof *out);
    uint64_t sum = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BUILD; i++) { build[i].key = i * 2654435761u; build[i].value = rnd(); }
        for (int i = 0; i < SLOTS; i++) table[i].key = 0;
        for (int i = 0; i < BUILD; i++) { uint32_t h = build[i].key >> 13; while (table[h & (SLOTS - 1)].key) h++; table[h & (SLOTS - 1)] = build[i]; }
        for (int i = 0; i < PROBE; i++) { double u = (rnd() >> 11) * 0x1p-53; probe[i].key = (uint32_t)(BUILD * u * u * u) * 2654435761u; probe[i].value = i; }
        int n = 0;
        for (int i = 0; i < PROBE; i++) {
            uint32_t h = probe[i].key >> 13;
            while (table[h & (SLOTS - 1)].key && table[h & (SLOTS - 1)].key != probe[i].key) h++;
            if (table[h & (SLOTS - 1)].key) { out[n].key = probe[i].key; out[n++].value = table[h & (SLOTS - 1)].value ^ probe[i].value; }
        }
        qsort(out, n, sizeof *out, by_value);
        for (int i = 0; i < n; i++) sum += out[i].value;
    }
    printf("%llu\n", (unsigned long long)sum);
}
