import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

/**
 * Counts what many threads have done, and wakes one thread when all of it is done: the same as
 * {@code tally.rs}, where it is explained.
 */
final class Tally {
    private static final long NEARLY_DONE = 256;
    private static final long CHECK_AGAIN = 1_000_000;
    private static final long SHORTEST_PAUSE = 50_000;
    private static final long LONGEST_PAUSE = 5_000_000;

    /** A number with room around it, so that no two share a cache line. */
    private static final class Line {
        long a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, aa, ab, ac, ad, ae, af;
        long count;
        long b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, ba, bb, bc, bd, be, bf;
    }

    private static final VarHandle COUNT;
    private static final VarHandle NEAR;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            COUNT = lookup.findVarHandle(Line.class, "count", long.class);
            NEAR = lookup.findStaticVarHandle(Tally.class, "near", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static final List<Line> LINES = new CopyOnWriteArrayList<>();
    private static final ThreadLocal<Line> LINE = ThreadLocal.withInitial(Tally::newLine);

    private static boolean near;
    private static volatile long end;
    private static volatile Thread waiter;

    private Tally() {}

    private static Line newLine() {
        Line line = new Line();
        LINES.add(line);
        return line;
    }

    static void count() {
        Line line = LINE.get();
        COUNT.setRelease(line, line.count + 1);
        if ((boolean) NEAR.getOpaque()) check();
    }

    private static void check() {
        VarHandle.fullFence();
        if (total() >= end) LockSupport.unpark(waiter);
    }

    static long total() {
        long total = 0;
        for (Line line : LINES) total += (long) COUNT.getAcquire(line);
        return total;
    }

    /** What this thread has counted. */
    static long own() {
        return LINE.get().count;
    }

    /** The number of threads that have counted since {@link #reset}. */
    static int threadsSeen() {
        return LINES.size();
    }

    /** Forgets the threads of former samples, which have ended. */
    static void reset() {
        LINES.clear();
        LINE.remove();
    }

    /** What is to come, from now on. */
    static Expected expect(long more) {
        return new Expected(total(), total() + more);
    }

    record Expected(long from, long until) {
        void await() {
            end = until;
            waiter = Thread.currentThread();
            long begun = System.nanoTime();
            for (long total = total(); total < until; total = total()) {
                if (until - total > NEARLY_DONE) {
                    LockSupport.parkNanos(pause(System.nanoTime() - begun, total));
                } else if ((boolean) NEAR.getAndSet(true)) {
                    LockSupport.parkNanos(CHECK_AGAIN);
                }
            }
            NEAR.setVolatile(false);
        }

        private long pause(long elapsed, long total) {
            double done = Math.max(total - from, 1);
            double pause = elapsed * ((until - total) / done / 2);
            return (long) Math.min(Math.max(pause, SHORTEST_PAUSE), LONGEST_PAUSE);
        }
    }
}
