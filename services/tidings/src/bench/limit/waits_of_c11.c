/* Preloaded beside libfaketime, which knows POSIX waits and not those of C11, which librdkafka uses: their end is a moment
 * of the shifted clock, and the kernel waits by the real one. Here they wait for what is left, by the monotonic clock. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>

#define NANOS 1000000000L

int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until) {
    struct timespec now, end;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += until->tv_sec - now.tv_sec;
    end.tv_nsec += until->tv_nsec - now.tv_nsec;
    while (end.tv_nsec < 0) end.tv_nsec += NANOS, end.tv_sec--;
    while (end.tv_nsec >= NANOS) end.tv_nsec -= NANOS, end.tv_sec++;
    if (end.tv_sec < 0) end.tv_sec = 0, end.tv_nsec = 0;
    int ended = pthread_cond_clockwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, CLOCK_MONOTONIC, &end);
    return ended == 0 ? thrd_success : ended == ETIMEDOUT ? thrd_timedout : thrd_error;
}
