/* Three laps over 64 pages that it names on standard output, written to and read; then the memory is freed. With an argument, a second thread
 * goes over other pages at the same time. Ends with status 7. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGES = 64, LAPS = 3, PAGE = 4096 };

static void *go(void *memory) {
    volatile char *pages = memory;
    for (int lap = 0; lap < LAPS; lap++) {
        for (int page = 0; page < PAGES; page++) {
            pages[page * PAGE + 5] = (char)lap;
            (void)pages[page * PAGE + 1000];
        }
    }
    return NULL;
}

static volatile char *memory[2];

int main(int count, char **arguments) {
    (void)arguments;
    for (int i = 0; i < 2; i++) memory[i] = malloc((PAGES + 1) * PAGE);
    uintptr_t first = ((uintptr_t)memory[0] + PAGE - 1) / PAGE;
    printf("%p %lu\n", (void *)memory[0], (unsigned long)first);
    pthread_t thread;
    if (count > 1) pthread_create(&thread, NULL, go, (void *)memory[1]);
    go((void *)(first * PAGE));
    if (count > 1) pthread_join(thread, NULL);
    memory[0] = realloc((void *)memory[0], 4 * (PAGES + 1) * PAGE);
    free((void *)memory[0]);
    free((void *)memory[1]);
    return 7;
}
