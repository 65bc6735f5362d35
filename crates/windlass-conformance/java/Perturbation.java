import java.util.concurrent.locks.LockSupport;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

/** Which threads are slowed down, so that what depends on timing shows. */
enum Perturbation {
    NONE, SLOW_CALLER, SLOW_WORKERS;

    private static final long PAUSE = MILLISECONDS.toNanos(3);

    void afterStart() { if (this == SLOW_CALLER) pause(); }

    void atWork() { if (this == SLOW_WORKERS) pause(); }

    /** Pauses the current thread in full, and leaves its interrupt as it was or as it came meanwhile. */
    private static void pause() {
        long end = System.nanoTime() + PAUSE;
        boolean interrupted = false;
        for (long left = PAUSE; left > 0; left = end - System.nanoTime()) {
            interrupted |= Thread.interrupted();
            LockSupport.parkNanos(left);
        }
        if (interrupted) Thread.currentThread().interrupt();
    }
}
