import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.locks.LockSupport;

/** Processor time where there is little to do: W15. */
final class Frugality {
    private static final long SETTLE = 30_000_000;
    private static final long SHORTEST_SLEEP = 50_000;

    private Frugality() {}

    static List<Figure> frugality(String peer, Point point) throws Exception {
        int workers = point.number("workers");
        ExecutorService pool = peer.equals("jdk-no-pool") ? null : Pools.of(peer, workers);
        List<Figure> figures = point.word("what").equals("trickle")
            ? trickle(pool == null ? Runnable::run : pool, point)
            : idle(pool, point);
        if (pool != null) Pools.end(pool);
        return figures;
    }

    private static List<Figure> trickle(Executor pool, Point point) {
        long every = point.number("every") * 1_000L;
        int tasks = point.number("tasks");
        var warm = Tally.expect(100);
        for (int i = 0; i < 100; i++) pool.execute(Tally::count);
        warm.await();
        sleepUntil(System.nanoTime() + SETTLE);
        var all = Tally.expect(tasks);
        long submitting = 0;
        Cpu cpu = new Cpu();
        long first = System.nanoTime();
        for (int step = 1; step <= tasks; step++) {
            waitUntil(first + step * every, every);
            long begun = System.nanoTime();
            pool.execute(Tally::count);
            submitting += System.nanoTime() - begun;
        }
        all.await();
        long others = cpu.byOthers();
        long inAll = others + cpu.byThisThread();
        return List.of(
            Figure.micros("CPU per task", (others + submitting) / (double) tasks),
            Figure.micros("CPU per task with its pacing", inAll / (double) tasks));
    }

    private static List<Figure> idle(ExecutorService pool, Point point) throws Exception {
        if (pool != null) Pools.gather(pool, point.number("workers")).countDown();
        sleepUntil(System.nanoTime() + SETTLE);
        long millis = point.number("millis");
        Cpu cpu = new Cpu();
        sleepUntil(System.nanoTime() + millis * 1_000_000);
        return List.of(new Figure("CPU per idle second", cpu.byOthers() / 1e3 / millis, "ms"));
    }

    private static void waitUntil(long end, long every) {
        if (every < SHORTEST_SLEEP) {
            while (System.nanoTime() < end) Thread.onSpinWait();
        } else {
            sleepUntil(end);
        }
    }

    private static void sleepUntil(long end) {
        for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
