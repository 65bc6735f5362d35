import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;

/** How long a shutdown takes: W12. */
final class Shutdown {
    private Shutdown() {}

    static List<Figure> shutdown(String peer, Point point) throws Exception {
        return point.word("what").equals("idle") ? idle(peer, point) : now(peer, point);
    }

    private static void joinAll(List<Thread> threads) throws InterruptedException {
        List<Thread> all;
        synchronized (threads) {
            all = new ArrayList<>(threads);
        }
        for (Thread thread : all) thread.join();
    }

    private static List<Figure> idle(String peer, Point point) throws Exception {
        int workers = point.number("workers");
        List<Thread> threads = new ArrayList<>();
        ExecutorService pool = Pools.of(peer, workers, threads);
        Pools.gather(pool, workers).countDown();
        long begun = System.nanoTime();
        pool.shutdown();
        pool.awaitTermination(60, TimeUnit.SECONDS);
        joinAll(threads);
        return List.of(Figure.micros("threads gone", System.nanoTime() - begun));
    }

    private static List<Figure> now(String peer, Point point) throws Exception {
        int workers = point.number("workers");
        int queued = point.number("queued");
        List<Thread> threads = new ArrayList<>();
        ExecutorService pool = Pools.of(peer, workers, threads);
        CountDownLatch gate = Pools.gather(pool, workers);
        long before = Tally.total();
        for (int i = 0; i < queued; i++) pool.execute(Tally::count);
        long begun = System.nanoTime();
        int givenBack = pool.shutdownNow().size();
        gate.countDown();
        joinAll(threads);
        long gone = System.nanoTime() - begun;
        return List.of(
            Figure.micros("threads gone", gone),
            Figure.count("ran anyway", Tally.total() - before),
            Figure.count("given back", givenBack));
    }
}
