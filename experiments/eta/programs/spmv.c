/* Conjugate-gradient-like iterations on a sparse matrix of a mesh with some far links, after building it. */
#include <stdlib.h>
#include <stdint.h>
#include <stdio.h>
static uint64_t s = 1234567;
static uint64_t rnd(void) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s; }
int main(void) {
    enum { SIDE = 300, N = SIDE * SIDE, PER = 7 };
    int *col = malloc(sizeof(int) * N * PER); double *val = malloc(sizeof(double) * N * PER);
    double *x = malloc(sizeof(double) * N), *p = malloc(sizeof(double) * N), *q = malloc(sizeof(double) * N), *r = malloc(sizeof(double) * N);
    for (int i = 0; i < N; i++) {
        int near[4] = { i - 1, i + 1, i - SIDE, i + SIDE };
        for (int k = 0; k < PER; k++) { int c = k < 4 ? near[k] : k < 5 ? i : (int)(rnd() % N); col[i * PER + k] = (c + N) % N; val[i * PER + k] = k == 4 ? 8 : -1; }
        x[i] = 0; r[i] = p[i] = (double)(rnd() % 1000) / 1000;
    }
    double rho = 0; for (int i = 0; i < N; i++) rho += r[i] * r[i];
    for (int it = 0; it < 40; it++) {
        double pq = 0;
        for (int i = 0; i < N; i++) { double t = 0; for (int k = 0; k < PER; k++) t += val[i * PER + k] * p[col[i * PER + k]]; q[i] = t; pq += t * p[i]; }
        double a = rho / (pq + 1e-9), next = 0;
        for (int i = 0; i < N; i++) { x[i] += a * p[i]; r[i] -= a * q[i]; next += r[i] * r[i]; }
        double b = next / (rho + 1e-9); rho = next;
        for (int i = 0; i < N; i++) p[i] = r[i] + b * p[i];
    }
    printf("%g\n", x[N / 2]);
}
