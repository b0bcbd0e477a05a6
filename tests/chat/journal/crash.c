/* Counts the system calls that change files under NBTOOL_HOME and, at the n-th, does what CRASH_DO says.

   kill   ends the process at once, before the call
   torn   writes the first half of what was to be written, then ends the process
   power  ends the process, and takes from the end of the write-ahead log what fsync did not wait for, as a power cut may
   ENOSPC, EIO, EROFS, EDQUOT: the call fails with this error, and so does every later one
   slow   the call takes 3 seconds
   hang   the call, and every later one, never comes back

   The count is written to CRASH_COUNT as it goes. Built by the tests: cc -shared -fPIC -o crash.so crash.c -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int counted, counter = -1, log_file = -1;
static off_t log_synced;
static int at_point(void);

static int (*real_synced)(int), (*real_ftruncate)(int, off_t), (*real_unlink)(const char *);
static int (*real_rename)(const char *, const char *);
static ssize_t (*real_write)(int, const void *, size_t), (*real_pwrite)(int, const void *, size_t, off_t);

__attribute__((constructor)) static void begin(void) {
    real_synced = dlsym(RTLD_NEXT, "fsync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_rename = dlsym(RTLD_NEXT, "rename");
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    const char *path = getenv("CRASH_COUNT");
    if (path) counter = open(path, O_CREAT | O_WRONLY, 0600);
}

static int is_ours(const char *path) {
    const char *home = getenv("NBTOOL_HOME");
    return home && strncmp(path, home, strlen(home)) == 0 && path[strlen(home)] == '/';
}

static int is_ours_open(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    if (size > 4 && !strcmp(path + size - 4, "-wal")) log_file = file;
    return is_ours(path);
}

/* 0: go on. -1: fail, errno is set. 1: write a half and end. */
static int at_point(void) {
    const char *at = getenv("CRASH_AT"), *what = getenv("CRASH_DO");
    int number = __sync_add_and_fetch(&counted, 1);
    char text[32];
    if (counter >= 0) real_pwrite(counter, text, snprintf(text, sizeof text, "%d\n", number), 0);
    if (!at || !what || !*what || number < atoi(at)) return 0;
    if (!strcmp(what, "kill")) _exit(137);
    if (!strcmp(what, "power")) {
        if (log_file >= 0) real_ftruncate(log_file, log_synced);
        _exit(137);
    }
    if (!strcmp(what, "torn")) return 1;
    if (!strcmp(what, "slow")) {
        if (number == atoi(at)) sleep(3);
        return 0;
    }
    if (!strcmp(what, "hang")) for (;;) pause();
    errno = !strcmp(what, "ENOSPC") ? ENOSPC : !strcmp(what, "EROFS") ? EROFS : !strcmp(what, "EDQUOT") ? EDQUOT : EIO;
    return -1;
}

#define SIMPLE(type, name, mine, parameters, arguments) \
    type name parameters { \
        int point = mine ? at_point() : 0; \
        if (point < 0) return -1; \
        if (point > 0) _exit(137); \
        return real_##name arguments; \
    }

SIMPLE(int, synced, is_ours_open(file), (int file), (file))
/* What the disk has of the log. One that begins anew is written over, and stays as long: what is lost there is not seen. */
int fsync(int file) {
    int failed = synced(file);
    if (!failed && file == log_file) log_synced = lseek(file, 0, SEEK_END);
    return failed;
}
int fdatasync(int file) { return fsync(file); }
SIMPLE(int, ftruncate, is_ours_open(file), (int file, off_t size), (file, size))
SIMPLE(int, unlink, is_ours(path), (const char *path), (path))
SIMPLE(int, rename, is_ours(path) || is_ours(to), (const char *path, const char *to), (path, to))
int ftruncate64(int file, off_t size) { return ftruncate(file, size); }

ssize_t write(int file, const void *data, size_t size) {
    int point = is_ours_open(file) ? at_point() : 0;
    if (point < 0) return -1;
    if (point > 0) { real_write(file, data, size / 2); _exit(137); }
    return real_write(file, data, size);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t where) {
    int point = is_ours_open(file) ? at_point() : 0;
    if (point < 0) return -1;
    if (point > 0) { real_pwrite(file, data, size / 2, where); _exit(137); }
    return real_pwrite(file, data, size, where);
}
ssize_t pwrite64(int file, const void *data, size_t size, off_t where) { return pwrite(file, data, size, where); }
