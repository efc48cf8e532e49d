/* Keeps lines of text by number in a cache of 64 KiB:
 *
 *     cc cache.c $(pkg-config --cflags --libs hotset) -o cache
 */
#include <hotset.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void destroy(void *data, void *context) {
    (void)context;
    free(data);
}

/* Stands for a slow source of lines. */
static char *load(unsigned number) {
    char *line = malloc(32);
    if (line != NULL)
        snprintf(line, 32, "line %u", number);
    return line;
}

/* Returns a use of a line; NULL on an error. */
static hotset_value *line_of(const hotset_cache *cache, unsigned number) {
    hotset_value *value;
    if (hotset_get(cache, &number, sizeof number, &value) == HOTSET_OK)
        return value;
    char *line = load(number);
    if (line == NULL)
        return NULL;
    if (hotset_insert(cache, &number, sizeof number, line, strlen(line) + 1, &value) != HOTSET_OK) {
        free(line);
        return NULL;
    }
    return value;
}

int main(void) {
    hotset_options options = {0};
    options.bytes = sizeof options;
    options.policy = "s3-fifo";
    options.capacity = 64 << 10;
    options.is_weighed = 1;
    options.destroy = destroy;

    hotset_cache *cache;
    if (hotset_create(&options, &cache) != HOTSET_OK) {
        fprintf(stderr, "%s\n", hotset_error());
        return 1;
    }
    for (unsigned pass = 0; pass < 3; pass++) {
        for (unsigned number = 0; number < 1000; number++) {
            hotset_value *value = line_of(cache, number);
            if (value == NULL) {
                fprintf(stderr, "line %u: %s\n", number, hotset_error());
                return 1;
            }
            if (number == 999)
                printf("%s\n", (const char *)hotset_data(value));
            hotset_release(value);
        }
    }
    hotset_stats stats;
    hotset_get_stats(cache, &stats, sizeof stats);
    printf("%llu hits, %llu misses\n", (unsigned long long)stats.hits,
           (unsigned long long)stats.misses);
    hotset_destroy(cache);
    return 0;
}
