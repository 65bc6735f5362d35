import java.util.List;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;

/** Timers, set, cancelled, and how late they are: W9. */
final class Timers {
    private static final int AT_LEAST = 50_000;
    private static final long LEAD = 50_000_000;

    private Timers() {}

    static List<Figure> timers(Point point) throws Exception {
        return point.word("what").equals("lateness") ? lateness(point) : churn(point);
    }

    private static ScheduledThreadPoolExecutor pool() {
        ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(2);
        pool.prestartAllCoreThreads();
        pool.setRemoveOnCancelPolicy(true);
        return pool;
    }

    private static List<Figure> churn(Point point) throws Exception {
        boolean near = point.word("what").equals("near");
        int count = point.number("timers");
        SplitMix random = new SplitMix(42);
        long[] delays = new long[count];
        for (int i = 0; i < count; i++) {
            long micros = random.below(1_000_000);
            delays[i] = near ? micros : 60_000_000 + 60 * micros;
        }
        ScheduledThreadPoolExecutor pool = pool();
        int turns = Math.min(Math.max(AT_LEAST / count, 1), 50);
        turn(pool, delays, Math.min(count, 1_000));
        long insert = 0;
        long cancel = 0;
        for (int i = 0; i < turns; i++) {
            long[] spent = turn(pool, delays, count);
            insert += spent[0];
            cancel += spent[1];
        }
        Pools.end(pool);
        long all = (long) count * turns;
        // The task leaves the queue within the call, and the heap when the collector comes.
        return List.of(
            Figure.per("insert", insert, all),
            Figure.per("cancel", cancel, all),
            Figure.per("cancel and free", cancel, all));
    }

    private static long[] turn(ScheduledThreadPoolExecutor pool, long[] delays, int count) {
        ScheduledFuture<?>[] handles = new ScheduledFuture<?>[count];
        long begun = System.nanoTime();
        for (int i = 0; i < count; i++) handles[i] = pool.schedule(Tally::count, delays[i], TimeUnit.MICROSECONDS);
        long inserted = System.nanoTime();
        for (ScheduledFuture<?> handle : handles) handle.cancel(false);
        return new long[] {inserted - begun, System.nanoTime() - inserted};
    }

    private static List<Figure> lateness(Point point) throws Exception {
        int count = point.number("timers");
        long span = point.number("millis") * 1_000L;
        ScheduledThreadPoolExecutor pool = pool();
        AtomicLongArray late = new AtomicLongArray(count);
        SplitMix random = new SplitMix(7);
        var all = Tally.expect(count);
        long first = System.nanoTime() + LEAD;
        for (int i = 0; i < count; i++) {
            long due = first + random.below(span) * 1_000;
            int place = i;
            pool.schedule(() -> {
                late.set(place, Math.max(System.nanoTime() - due, 0));
                Tally.count();
            }, Math.max(due - System.nanoTime(), 0), TimeUnit.NANOSECONDS);
        }
        all.await();
        Pools.end(pool);
        long[] times = new long[count];
        for (int i = 0; i < count; i++) times[i] = late.get(i);
        return Figure.quantiles("late", times);
    }
}
