/*
 * A disk that fails when it is told to, for one file and those beside it whose names begin with its name.
 *
 * Loaded with LD_PRELOAD. FAULTS_PREFIX: the absolute path that all names in question begin with. FAULTS_SWITCH: a file
 * that whoever switches the faults has mapped as well: OPERATIONS rows of six 64-bit numbers each, see struct fault.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum operation { OPEN, READ, WRITE, SYNC, TRUNCATE, UNLINK, MAP, LOCK, OPERATIONS };

struct fault {
    int64_t error;    /* errno; 0: nothing is wrong */
    int64_t percent;  /* of the calls */
    int64_t delay;    /* milliseconds before each call */
    int64_t mode;     /* WRITE: 1 takes half of what it is given, then fails. SYNC: so many calls succeed without a sync. */
    int64_t seen;
    int64_t failed;
};

#define DESCRIPTORS 65536

static volatile struct fault *faults;
static const char *prefix;
static char ours[DESCRIPTORS];

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULTS_SWITCH");
    prefix = getenv("FAULTS_PREFIX");
    if (path == NULL || prefix == NULL) return;
    int (*open_)(const char *, int, ...) = real("open");
    void *(*mmap_)(void *, size_t, int, int, int, off_t) = real("mmap");
    int fd = open_(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) abort();
    void *mapped = mmap_(NULL, sizeof(struct fault) * OPERATIONS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) abort();
    faults = mapped;
    close(fd);
}

/* Whether the call fails; errno is set then. */
static int fails(enum operation operation) {
    volatile struct fault *fault = &faults[operation];
    fault->seen++;
    if (fault->delay > 0) {
        struct timespec pause = {fault->delay / 1000, (fault->delay % 1000) * 1000000L};
        nanosleep(&pause, NULL);
    }
    if (fault->error == 0 || random() % 100 >= fault->percent) return 0;
    fault->failed++;
    errno = (int)fault->error;
    return 1;
}

static int named(const char *path) {
    return faults != NULL && path != NULL && strncmp(path, prefix, strlen(prefix)) == 0;
}

static int mine(int fd) { return faults != NULL && fd >= 0 && fd < DESCRIPTORS && ours[fd]; }

static int opened(int fd, int of_ours) {
    if (fd >= 0 && fd < DESCRIPTORS) ours[fd] = (char)of_ours;
    return fd;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        MODE(flags) \
        int (*next)(const char *, int, ...) = real(#name); \
        if (named(path) && fails(OPEN)) return -1; \
        return opened(next(path, flags, mode), named(path)); \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name) \
    int name(int directory, const char *path, int flags, ...) { \
        MODE(flags) \
        int (*next)(int, const char *, int, ...) = real(#name); \
        if (named(path) && fails(OPEN)) return -1; \
        return opened(next(directory, path, flags, mode), named(path)); \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

int close(int fd) {
    static int (*next)(int);
    if (next == NULL) next = real("close");
    if (fd >= 0 && fd < DESCRIPTORS) ours[fd] = 0;
    return next(fd);
}

ssize_t read(int fd, void *buffer, size_t size) {
    static ssize_t (*next)(int, void *, size_t);
    if (next == NULL) next = real("read");
    return mine(fd) && fails(READ) ? -1 : next(fd, buffer, size);
}

#define READS_AT(name, offset_type) \
    ssize_t name(int fd, void *buffer, size_t size, offset_type offset) { \
        static ssize_t (*next)(int, void *, size_t, offset_type); \
        if (next == NULL) next = real(#name); \
        return mine(fd) && fails(READ) ? -1 : next(fd, buffer, size, offset); \
    }
READS_AT(pread, off_t)
READS_AT(pread64, off64_t)

/* How much of a write is done: all, nothing (errno is set), or half. */
static ssize_t taken(size_t size) {
    static int turn;
    if (faults[WRITE].mode == 0) return fails(WRITE) ? -1 : (ssize_t)size;
    turn = !turn;
    if (turn && size > 1) return (ssize_t)(size / 2);
    return fails(WRITE) ? -1 : (ssize_t)size;
}

ssize_t write(int fd, const void *buffer, size_t size) {
    static ssize_t (*next)(int, const void *, size_t);
    if (next == NULL) next = real("write");
    if (!mine(fd)) return next(fd, buffer, size);
    ssize_t much = taken(size);
    return much < 0 ? -1 : next(fd, buffer, (size_t)much);
}

#define WRITES_AT(name, offset_type) \
    ssize_t name(int fd, const void *buffer, size_t size, offset_type offset) { \
        static ssize_t (*next)(int, const void *, size_t, offset_type); \
        if (next == NULL) next = real(#name); \
        if (!mine(fd)) return next(fd, buffer, size, offset); \
        ssize_t much = taken(size); \
        return much < 0 ? -1 : next(fd, buffer, (size_t)much, offset); \
    }
WRITES_AT(pwrite, off_t)
WRITES_AT(pwrite64, off64_t)

#define SYNCS(name) \
    int name(int fd) { \
        static int (*next)(int); \
        if (next == NULL) next = real(#name); \
        if (!mine(fd)) return next(fd); \
        if (faults[SYNC].mode > 0) { faults[SYNC].mode--; return 0; } \
        return fails(SYNC) ? -1 : next(fd); \
    }
SYNCS(fsync)
SYNCS(fdatasync)

/* Asynchronous I/O has no function of the C library: whoever uses it makes the system call. */
long syscall(long number, ...) {
    static long (*next)(long, ...);
    if (next == NULL) next = real("syscall");
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (number == SYS_io_submit && b > 0) {
        struct iocb *request = *(struct iocb **)c;
        int syncs = request->aio_lio_opcode == IOCB_CMD_FDSYNC || request->aio_lio_opcode == IOCB_CMD_FSYNC;
        if (syncs && mine((int)request->aio_fildes)) {
            if (faults[SYNC].mode > 0) faults[SYNC].mode--;
            else if (fails(SYNC)) return -1;
        }
    }
    return next(number, a, b, c, d, e, f);
}

#define TRUNCATES(name, offset_type) \
    int name(int fd, offset_type length) { \
        static int (*next)(int, offset_type); \
        if (next == NULL) next = real(#name); \
        return mine(fd) && fails(TRUNCATE) ? -1 : next(fd, length); \
    }
TRUNCATES(ftruncate, off_t)
TRUNCATES(ftruncate64, off64_t)

int unlink(const char *path) {
    int (*next)(const char *) = real("unlink");
    return named(path) && fails(UNLINK) ? -1 : next(path);
}

#define MAPS(name, offset_type) \
    void *name(void *address, size_t size, int protection, int flags, int fd, offset_type offset) { \
        static void *(*next)(void *, size_t, int, int, int, offset_type); \
        if (next == NULL) next = real(#name); \
        return mine(fd) && fails(MAP) ? MAP_FAILED : next(address, size, protection, flags, fd, offset); \
    }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)

#define CONTROLS(name) \
    int name(int fd, int command, ...) { \
        static int (*next)(int, int, ...); \
        va_list list; \
        va_start(list, command); \
        void *argument = va_arg(list, void *); \
        va_end(list); \
        if (next == NULL) next = real(#name); \
        int locks = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK; \
        return locks && mine(fd) && fails(LOCK) ? -1 : next(fd, command, argument); \
    }
CONTROLS(fcntl)
CONTROLS(fcntl64)

int flock(int fd, int operation) {
    int (*next)(int, int) = real("flock");
    return mine(fd) && fails(LOCK) ? -1 : next(fd, operation);
}
