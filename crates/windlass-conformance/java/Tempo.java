import java.util.concurrent.locks.LockSupport;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

/** Who dawdles, so that what depends on timing shows. */
enum Tempo {
    NATURAL, DAWDLING_CALLER, DAWDLING_WORKERS;

    private static final long PAUSE = MILLISECONDS.toNanos(3);

    void afterStart() { if (this == DAWDLING_CALLER) dawdle(); }

    void atWork() { if (this == DAWDLING_WORKERS) dawdle(); }

    /** Pauses the current thread in full, and leaves its interrupt as it was or as it came meanwhile. */
    private static void dawdle() {
        long end = System.nanoTime() + PAUSE;
        boolean interrupted = false;
        for (long left = PAUSE; left > 0; left = end - System.nanoTime()) {
            interrupted |= Thread.interrupted();
            LockSupport.parkNanos(left);
        }
        if (interrupted) Thread.currentThread().interrupt();
    }
}
