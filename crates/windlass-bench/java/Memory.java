import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** What waits takes memory: W10. Each sample in a fresh process. */
final class Memory {
    private Memory() {}

    static List<Figure> memory(String peer, Point point) throws Exception {
        return switch (point.word("what")) {
            case "queued" -> queued(peer, point.number("count"));
            case "idle" -> idle(peer, point.number("workers"));
            default -> timers(point.number("count"));
        };
    }

    private static Figure each(long before, long after, int count) {
        return new Figure("bytes each", Math.max(after - before, 0) / (double) count, "bytes");
    }

    /** The heap in use when what is not needed has been collected. */
    private static long heap() {
        Runtime runtime = Runtime.getRuntime();
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 4; i++) {
            System.gc();
            least = Math.min(least, runtime.totalMemory() - runtime.freeMemory());
        }
        return least;
    }

    private static long resident() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
        }
        throw new IOException("no VmRSS");
    }

    private record Task(long captured) implements Runnable {
        @Override
        public void run() {
            Tally.count();
        }
    }

    private static List<Figure> queued(String peer, int count) throws Exception {
        ExecutorService pool = Pools.of(peer, 1);
        CountDownLatch gate = Pools.gather(pool, 1);
        long before = heap();
        for (int i = 0; i < count; i++) pool.execute(new Task(i));
        Figure figure = each(before, heap(), count);
        gate.countDown();
        return List.of(figure);
    }

    private static List<Figure> idle(String peer, int workers) throws Exception {
        long before = resident();
        ExecutorService pool = Pools.of(peer, workers);
        Pools.gather(pool, workers).countDown();
        return List.of(each(before, resident(), workers));
    }

    private static List<Figure> timers(int count) {
        ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(2);
        SplitMix random = new SplitMix(42);
        long before = heap();
        for (int i = 0; i < count; i++) {
            pool.schedule(Tally::count, 600_000 + random.below(600_000), TimeUnit.MILLISECONDS);
        }
        return List.of(each(before, heap(), count));
    }
}
