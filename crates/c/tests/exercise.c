/* Every function of the interface, every error that a program can cause, and four threads on one small cache. Each
 * value must be destroyed once, and only after its last use. */
#include <hotset.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition,         \
                    hotset_error());                                                               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* A value, which knows its key. */
struct item {
    unsigned key;
    unsigned alive;
};

static unsigned created, destroyed;

static struct item *new_item(unsigned key) {
    struct item *item = malloc(sizeof *item);
    CHECK(item != NULL);
    item->key = key;
    item->alive = 0x5a5a;
    __atomic_add_fetch(&created, 1, __ATOMIC_RELAXED);
    return item;
}

static void destroy(void *data, void *context) {
    struct item *item = data;
    CHECK(context == &destroyed && item->alive == 0x5a5a);
    item->alive = 0;
    free(item);
    __atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
}

static hotset_options options_for(const char *policy, uint64_t capacity) {
    hotset_options options;
    memset(&options, 0, sizeof options);
    options.bytes = sizeof options;
    options.policy = policy;
    options.capacity = capacity;
    options.destroy = destroy;
    options.context = &destroyed;
    return options;
}

static void errors(void) {
    hotset_options options = options_for("lru", 10);
    hotset_cache *cache = (hotset_cache *)&options;
    hotset_value *value;
    hotset_stats stats;
    double ratio;
    CHECK(strcmp(hotset_error(), "") == 0);
    CHECK(hotset_create(NULL, &cache) == HOTSET_INVALID && cache == NULL);
    CHECK(hotset_create(&options, NULL) == HOTSET_INVALID);
    options.bytes = sizeof options + 1;
    CHECK(hotset_create(&options, &cache) == HOTSET_INVALID);
    CHECK(strstr(hotset_error(), "sizeof(hotset_options)") != NULL);
    options = options_for("no-such-policy", 10);
    CHECK(hotset_create(&options, &cache) == HOTSET_REFUSED && cache == NULL);
    CHECK(strstr(hotset_error(), "no-such-policy") != NULL);
    options = options_for("\xff", 10);
    CHECK(hotset_create(&options, &cache) == HOTSET_INVALID);
    options = options_for("opt", 10);
    CHECK(hotset_create(&options, &cache) == HOTSET_REFUSED);
    options = options_for("lru", 0);
    CHECK(hotset_create(&options, &cache) == HOTSET_REFUSED);

    options = options_for("lru", 10);
    CHECK(hotset_create(&options, &cache) == HOTSET_OK);
    CHECK(hotset_get(NULL, "k", 1, &value) == HOTSET_INVALID && value == NULL);
    CHECK(hotset_get(cache, NULL, 1, &value) == HOTSET_INVALID);
    CHECK(hotset_get(cache, "k", SIZE_MAX, &value) == HOTSET_INVALID);
    CHECK(hotset_get(cache, "k", 1, NULL) == HOTSET_INVALID);
    CHECK(hotset_insert(NULL, "k", 1, NULL, 1, NULL) == HOTSET_INVALID);
    CHECK(hotset_remove(NULL, "k", 1) == HOTSET_INVALID);
    CHECK(hotset_resize(NULL, 1) == HOTSET_INVALID);
    CHECK(hotset_resize(cache, 0) == HOTSET_REFUSED);
    CHECK(hotset_get_stats(NULL, &stats, sizeof stats) == HOTSET_INVALID);
    CHECK(hotset_get_stats(cache, NULL, sizeof stats) == HOTSET_INVALID);
    CHECK(hotset_what_if(cache, "lru", 10, NULL) == HOTSET_INVALID);
    CHECK(hotset_what_if(cache, "lru", 10, &ratio) == HOTSET_REFUSED);
    CHECK(hotset_data(NULL) == NULL);
    hotset_release(NULL);
    hotset_destroy(NULL);
    hotset_destroy(cache);
}

static void uses(void) {
    hotset_options options = options_for("lru", 4);
    hotset_cache *cache;
    hotset_value *first, *again;
    hotset_stats stats;
    unsigned before = destroyed;
    options.shards = 1;
    CHECK(hotset_create(&options, &cache) == HOTSET_OK);
    CHECK(hotset_get(cache, "", 0, &first) == HOTSET_ABSENT && first == NULL);
    CHECK(hotset_insert(cache, "", 0, new_item(7), 1, &first) == HOTSET_OK);
    CHECK(hotset_get(cache, "", 0, &again) == HOTSET_OK);
    CHECK(hotset_data(first) == hotset_data(again));
    for (unsigned key = 0; key < 10; key++)
        CHECK(hotset_insert(cache, &key, sizeof key, new_item(key), 1, NULL) == HOTSET_OK);
    /* It was evicted, and has two uses. */
    CHECK(destroyed - before == 6);
    CHECK(((struct item *)hotset_data(first))->key == 7);
    hotset_release(first);
    CHECK(destroyed - before == 6 && ((struct item *)hotset_data(again))->alive == 0x5a5a);
    hotset_release(again);
    CHECK(destroyed - before == 7);

    unsigned last = 9;
    CHECK(hotset_insert(cache, &last, sizeof last, new_item(9), 1, NULL) == HOTSET_OK);
    CHECK(destroyed - before == 8);
    CHECK(hotset_remove(cache, &last, sizeof last) == HOTSET_OK);
    CHECK(hotset_remove(cache, &last, sizeof last) == HOTSET_ABSENT);
    CHECK(hotset_resize(cache, 2) == HOTSET_OK);
    memset(&stats, 0xee, sizeof stats);
    CHECK(hotset_get_stats(cache, &stats, sizeof stats) == HOTSET_OK);
    CHECK(stats.hits == 1 && stats.misses == 1 && stats.inserts == 12 && stats.evictions == 8);
    CHECK(stats.values == 2 && stats.weight == 2 && stats.capacity == 2 && stats.rejected == 0);
    memset(&stats, 0xee, sizeof stats);
    CHECK(hotset_get_stats(cache, &stats, 2 * sizeof stats.hits) == HOTSET_OK);
    CHECK(stats.misses == 1 && stats.inserts == 0xeeeeeeeeeeeeeeeeull);
    hotset_destroy(cache);
    CHECK(created == destroyed);
}

/* An older program's struct ends before the later fields. */
static void older(void) {
    hotset_options options = options_for("lru", 4);
    hotset_cache *cache;
    options.bytes = offsetof(hotset_options, is_weighed);
    options.is_weighed = 1;
    CHECK(hotset_create(&options, &cache) == HOTSET_OK);
    CHECK(hotset_insert(cache, "k", 1, NULL, 100, NULL) == HOTSET_OK);
    hotset_value *value;
    CHECK(hotset_get(cache, "k", 1, &value) == HOTSET_OK);
    hotset_release(value);
    hotset_destroy(cache);
}

static void weights(void) {
    hotset_options options = options_for("lirs", 1000);
    hotset_cache *cache;
    hotset_value *value;
    hotset_stats stats;
    options.is_weighed = 1;
    CHECK(hotset_create(&options, &cache) == HOTSET_OK);
    CHECK(hotset_insert(cache, "heavy", 5, new_item(1), 1001, &value) == HOTSET_OK);
    CHECK(((struct item *)hotset_data(value))->key == 1);
    hotset_release(value);
    CHECK(hotset_get(cache, "heavy", 5, &value) == HOTSET_ABSENT);
    for (unsigned pass = 0; pass < 40; pass++)
        for (unsigned key = 0; key < 200; key++) {
            if (hotset_get(cache, &key, sizeof key, &value) == HOTSET_OK) {
                CHECK(((struct item *)hotset_data(value))->key == key);
                hotset_release(value);
            } else {
                CHECK(hotset_insert(cache, &key, sizeof key, new_item(key), 10, NULL) ==
                      HOTSET_OK);
            }
            CHECK(hotset_get_stats(cache, &stats, sizeof stats) == HOTSET_OK);
            CHECK(stats.weight <= 1000);
        }
    CHECK(stats.rejected >= 1 && stats.hits > 0);
    hotset_destroy(cache);
    CHECK(created == destroyed);
}

/* A loop over five times the capacity never hits with LRU, and always if all fits. */
static void estimates(void) {
    hotset_options options = options_for("lru", 1000);
    hotset_cache *cache;
    hotset_value *value;
    double ratio = -1;
    options.is_sampled = 1;
    CHECK(hotset_create(&options, &cache) == HOTSET_OK);
    for (unsigned pass = 0; pass < 40; pass++)
        for (unsigned key = 0; key < 5000; key++) {
            CHECK(hotset_get(cache, &key, sizeof key, &value) == HOTSET_ABSENT);
            CHECK(hotset_insert(cache, &key, sizeof key, new_item(key), 1, NULL) == HOTSET_OK);
        }
    CHECK(hotset_what_if(cache, "lru", 10000, &ratio) == HOTSET_OK && ratio > 0.9);
    CHECK(hotset_what_if(cache, "lru", 1000, &ratio) == HOTSET_OK && ratio < 0.1);
    CHECK(hotset_what_if(cache, "nothing", 4000, &ratio) == HOTSET_REFUSED);
    hotset_destroy(cache);
    CHECK(created == destroyed);
}

static void *work(void *argument) {
    hotset_cache *cache = argument;
    unsigned state = (unsigned)(size_t)&state | 1;
    for (unsigned step = 0; step < 50000; step++) {
        state = state * 1664525u + 1013904223u;
        unsigned key = (state >> 16) % 300;
        hotset_value *value;
        if (step % 50 == 0) {
            CHECK(hotset_remove(cache, &key, sizeof key) >= 0);
        } else if (hotset_get(cache, &key, sizeof key, &value) == HOTSET_ABSENT) {
            CHECK(hotset_insert(cache, &key, sizeof key, new_item(key), 1, &value) == HOTSET_OK);
        }
        if (step % 50 != 0) {
            struct item *item = hotset_data(value);
            CHECK(item->key == key && item->alive == 0x5a5a);
            hotset_release(value);
        }
    }
    return NULL;
}

static void threads(void) {
    static const char *policies[] = {"s3-fifo", "lirs", "arc", "fifo"};
    for (unsigned which = 0; which < 4; which++) {
        hotset_options options = options_for(policies[which], 100);
        hotset_cache *cache;
        pthread_t all[4];
        options.shards = 2;
        CHECK(hotset_create(&options, &cache) == HOTSET_OK);
        for (unsigned thread = 0; thread < 4; thread++)
            CHECK(pthread_create(&all[thread], NULL, work, cache) == 0);
        for (unsigned thread = 0; thread < 4; thread++)
            CHECK(pthread_join(all[thread], NULL) == 0);
        hotset_destroy(cache);
        CHECK(created == destroyed);
    }
}

int main(void) {
    errors();
    uses();
    older();
    weights();
    estimates();
    threads();
    printf("%s: %u values\n", hotset_version(), created);
    return 0;
}
