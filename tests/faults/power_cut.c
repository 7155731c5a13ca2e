/* Remembers what a power cut would leave: the content that each file had at its last fsync, and the names that each
 * directory had at its last fsync. Loaded with LD_PRELOAD; POWER_CUT_SHADOW is an existing folder to write to:
 *   content/KEY   the content of a synced file; KEY is its inode with its birth time, since inodes are used again
 *   names/PATH    the entries of a synced directory, a line `KEY TYPE NAME` each; slashes of PATH are written as +
 * Each is written whole by a rename, before fsync returns. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The identity of a file; 0 if it has none. */
static int key_of(int at, const char *name, char *key, size_t size, mode_t *mode) {
    struct statx found;
    int flags = AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);
    if (statx(at, name, flags, STATX_BTIME | STATX_INO | STATX_TYPE, &found) != 0)
        return 0;
    snprintf(key, size, "%llu-%lld-%u", (unsigned long long)found.stx_ino, (long long)found.stx_btime.tv_sec,
             found.stx_btime.tv_nsec);
    *mode = found.stx_mode;
    return 1;
}

static void fail(const char *what) {
    fprintf(stderr, "power_cut: %s: %s\n", what, strerror(errno));
    abort();
}

/* Writes a file of the shadow: `fill` writes it under a temporary name. */
static void remember(const char *folder, const char *name, int source, void (*fill)(int source, FILE *target)) {
    char temporary[PATH_MAX], final[PATH_MAX];
    const char *shadow = getenv("POWER_CUT_SHADOW");
    snprintf(temporary, sizeof temporary, "%s/%s/.new", shadow, folder);
    snprintf(final, sizeof final, "%s/%s/%s", shadow, folder, name);
    FILE *target = fopen(temporary, "w");
    if (!target)
        fail(temporary);
    fill(source, target);
    if (fclose(target) != 0 || rename(temporary, final) != 0)
        fail(final);
}

static void copy_content(int source, FILE *target) {
    char block[1 << 16], path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", source);
    int again = open(path, O_RDONLY | O_CLOEXEC); /* has an offset of its own */
    if (again < 0)
        fail(path);
    for (ssize_t count; (count = read(again, block, sizeof block)) > 0;)
        fwrite(block, 1, (size_t)count, target);
    close(again);
}

static void copy_names(int source, FILE *target) {
    char path[64], key[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", source);
    DIR *folder = opendir(path);
    if (!folder)
        fail(path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        mode_t mode;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (key_of(dirfd(folder), entry->d_name, key, sizeof key, &mode))
            fprintf(target, "%s %c %s\n", key, S_ISDIR(mode) ? 'd' : 'f', entry->d_name);
    }
    closedir(folder);
}

static void synced(int fd) {
    char key[64], path[64], name[PATH_MAX];
    mode_t mode;
    if (!getenv("POWER_CUT_SHADOW") || !key_of(fd, "", key, sizeof key, &mode))
        return;
    pthread_mutex_lock(&lock);
    if (S_ISREG(mode)) {
        remember("content", key, fd, copy_content);
    } else if (S_ISDIR(mode)) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, name, sizeof name - 1);
        if (length < 0)
            fail(path);
        name[length] = 0;
        for (char *at = name; *at; at++)
            if (*at == '/')
                *at = '+';
        remember("names", name, fd, copy_names);
    }
    pthread_mutex_unlock(&lock);
}

/* A real fsync would only take time: this machine keeps its power. */
int fsync(int fd) {
    synced(fd);
    return 0;
}

int fdatasync(int fd) {
    synced(fd);
    return 0;
}
