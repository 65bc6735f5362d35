import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** One task at a time: W3 and W4. */
final class Latency {
    private static final long QUIET = 2_000_000;
    private static final AtomicLong BEGUN = new AtomicLong();

    private Latency() {}

    static List<Figure> pingPong(String peer, Point point) throws Exception {
        ExecutorService pool = Pools.of(peer, point.number("workers"));
        int trips = point.number("trips");
        long[] times = new long[trips];
        for (int i = 0; i < trips / 10; i++) trip(pool, i);
        for (int i = 0; i < trips; i++) times[i] = trip(pool, i);
        Pools.end(pool);
        return Figure.quantiles("round trip", times);
    }

    private static long trip(ExecutorService pool, long number) throws Exception {
        long begun = System.nanoTime();
        long answer = pool.submit(() -> number).get();
        long elapsed = System.nanoTime() - begun;
        if (answer != number) throw new IllegalStateException("a result is wrong");
        return elapsed;
    }

    static List<Figure> wakeUp(String peer, Point point) throws Exception {
        ExecutorService pool = Pools.of(peer, point.number("workers"));
        var warm = Tally.expect(100);
        for (int i = 0; i < 100; i++) pool.execute(Tally::count);
        warm.await();
        long[] times = new long[point.number("wakes")];
        for (int i = 0; i < times.length; i++) times[i] = wake(pool);
        Pools.end(pool);
        return Figure.quantiles("wake-up", times);
    }

    private static long wake(ExecutorService pool) {
        long end = System.nanoTime() + QUIET;
        for (long left = QUIET; left > 0; left = end - System.nanoTime()) LockSupport.parkNanos(left);
        var all = Tally.expect(1);
        long sent = System.nanoTime();
        pool.execute(() -> {
            BEGUN.set(System.nanoTime());
            Tally.count();
        });
        all.await();
        return BEGUN.get() - sent;
    }
}
