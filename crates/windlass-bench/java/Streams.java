import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** Many small tasks: W1, W2, W5, W6, W8, W11, W13 and W14. */
final class Streams {
    private Streams() {}

    private record Three(long a, long b, long c) implements Runnable {
        @Override
        public void run() {
            Tally.count();
        }
    }

    private record Eight(long a, long b, long c, long d, long e, long f, long g, long h) implements Runnable {
        @Override
        public void run() {
            Tally.count();
        }
    }

    private static void warmUp(Executor pool, int tasks) {
        var all = Tally.expect(tasks / 10);
        for (int i = 0; i < tasks / 10; i++) pool.execute(Tally::count);
        all.await();
    }

    private static long time(Executor pool, int producers, int tasks, Supplier<Runnable> task) throws Exception {
        int each = tasks / producers;
        var all = Tally.expect((long) each * producers);
        if (producers == 1) {
            long begun = System.nanoTime();
            for (int i = 0; i < each; i++) pool.execute(task.get());
            all.await();
            return System.nanoTime() - begun;
        }
        // The producers say when they began: this thread may get a core long after they did.
        CyclicBarrier together = new CyclicBarrier(producers);
        AtomicLong begun = new AtomicLong(Long.MAX_VALUE);
        List<Thread> threads = new ArrayList<>();
        for (int p = 0; p < producers; p++) {
            Thread thread = new Thread(() -> {
                try {
                    together.await();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
                begun.accumulateAndGet(System.nanoTime(), Math::min);
                for (int i = 0; i < each; i++) pool.execute(task.get());
            });
            threads.add(thread);
            thread.start();
        }
        all.await();
        long ended = System.nanoTime();
        for (Thread thread : threads) thread.join();
        return ended - begun.get();
    }

    static List<Figure> emptyTasks(String peer, Point point) throws Exception {
        ExecutorService pool = Pools.of(peer, point.number("workers"));
        int tasks = point.number("tasks");
        warmUp(pool, tasks);
        Supplier<Runnable> task = switch (point.number("captured")) {
            case 0 -> () -> Tally::count;
            case 24 -> () -> new Three(7, 7, 7);
            default -> () -> new Eight(7, 7, 7, 7, 7, 7, 7, 7);
        };
        long elapsed = time(pool, point.number("producers"), tasks, task);
        Pools.end(pool);
        return List.of(Figure.per("per task", elapsed, tasks));
    }

    static List<Figure> results(String peer, Point point) throws Exception {
        ExecutorService pool = Pools.of(peer, point.number("workers"));
        int tasks = point.number("tasks");
        if (point.has("warm")) {
            submitAndGet(pool, point.number("warm"));
        } else {
            warmUp(pool, tasks);
        }
        long elapsed = submitAndGet(pool, tasks);
        Pools.end(pool);
        return List.of(Figure.per("per task", elapsed, tasks));
    }

    private static long submitAndGet(ExecutorService pool, int tasks) throws Exception {
        List<Future<Long>> handles = new ArrayList<>(tasks);
        long begun = System.nanoTime();
        for (int i = 0; i < tasks; i++) {
            long number = i;
            handles.add(pool.submit(() -> number));
        }
        long sum = 0;
        for (Future<Long> handle : handles) sum += handle.get();
        long elapsed = System.nanoTime() - begun;
        if (sum != (long) tasks * (tasks - 1) / 2) throw new IllegalStateException("a result is wrong");
        return elapsed;
    }

    static List<Figure> bounded(String peer, Point point) throws Exception {
        ExecutorService pool = Pools.bounded(peer, point.number("workers"), 1_024, point.word("policy"));
        int tasks = point.number("tasks");
        Supplier<Runnable> task = () -> Tally::count;
        if (point.has("micros")) {
            Work work = Work.ofMicros(point.number("micros"));
            task = () -> () -> {
                work.run();
                Tally.count();
            };
        }
        time(pool, 1, tasks / 10, task);
        int producers = point.number("producers");
        long before = Tally.own();
        long elapsed = time(pool, producers, tasks, task);
        Pools.end(pool);
        List<Figure> figures = new ArrayList<>(List.of(Figure.per("per task", elapsed, tasks)));
        if (point.word("policy").equals("caller-runs") && producers == 1) {
            figures.add(Figure.count("run by the caller", Tally.own() - before));
        }
        return figures;
    }

    static List<Figure> cached(Point point) throws Exception {
        ExecutorService pool = Executors.newCachedThreadPool();
        int burst = point.number("burst");
        int tasks = point.number("tasks");
        Work work = Work.ofMicros(point.has("micros") ? point.number("micros") : 1);
        for (int i = 0; i < tasks / burst / 10; i++) send(pool, burst, work);
        long begun = System.nanoTime();
        for (int i = 0; i < tasks / burst; i++) send(pool, burst, work);
        long elapsed = System.nanoTime() - begun;
        int threads = Tally.threadsSeen();
        Pools.end(pool);
        return List.of(Figure.per("per task", elapsed, tasks), Figure.count("threads", threads));
    }

    private static void send(Executor pool, int burst, Work work) {
        var all = Tally.expect(burst);
        for (int i = 0; i < burst; i++) {
            pool.execute(() -> {
                work.run();
                Tally.count();
            });
        }
        all.await();
    }

    static List<Figure> spawning(String peer, Point point) throws Exception {
        int depth = point.number("depth");
        boolean forks = peer.equals("jdk-fork");
        ExecutorService pool = Pools.of(forks ? "jdk-fork-join" : peer, point.number("workers"));
        grow(pool, forks, Math.max(depth - 3, 0));
        long begun = System.nanoTime();
        long tasks = grow(pool, forks, depth);
        long elapsed = System.nanoTime() - begun;
        Pools.end(pool);
        return List.of(Figure.per("per task", elapsed, tasks));
    }

    private static long grow(ExecutorService pool, boolean forks, int depth) {
        long tasks = (1L << (depth + 1)) - 1;
        var all = Tally.expect(tasks);
        if (forks) {
            ((ForkJoinPool) pool).execute(new Fork(depth));
        } else {
            pool.execute(new Node(pool, depth));
        }
        all.await();
        return tasks;
    }

    private record Node(Executor pool, int depth) implements Runnable {
        @Override
        public void run() {
            if (depth > 0) {
                pool.execute(new Node(pool, depth - 1));
                pool.execute(new Node(pool, depth - 1));
            }
            Tally.count();
        }
    }

    /** The fork-join pool's own way to spawn. */
    private static final class Fork extends RecursiveAction {
        private static final long serialVersionUID = 1;
        private final int depth;

        Fork(int depth) {
            this.depth = depth;
        }

        @Override
        protected void compute() {
            if (depth > 0) {
                new Fork(depth - 1).fork();
                new Fork(depth - 1).fork();
            }
            Tally.count();
        }
    }

    static List<Figure> busyTasks(String peer, Point point) throws Exception {
        int workers = point.number("workers");
        int tasks = point.number("tasks");
        Work work = Work.ofMicros(point.number("micros"));
        double each = work.nanos(Math.max(tasks / 100, 10));
        ExecutorService pool = Pools.of(peer, workers);
        warmUp(pool, 10_000);
        long elapsed = time(pool, 1, tasks, () -> () -> {
            work.run();
            Tally.count();
        });
        Pools.end(pool);
        double ideal = each * tasks / workers;
        return List.of(new Figure("efficiency", 100 * ideal / elapsed, "%"));
    }

    static List<Figure> additions(String peer, Point point) throws Exception {
        ExecutorService pool = Pools.of(peer, point.number("workers"));
        int tasks = point.number("tasks");
        warmUp(pool, tasks);
        long elapsed = time(pool, point.number("producers"), tasks, () -> Tally::count);
        Pools.end(pool);
        return List.of(Figure.per("per task", elapsed, tasks));
    }

    static List<Figure> growth(String peer, Point point) throws Exception {
        int workers = point.number("workers");
        int tasks = point.number("tasks");
        ExecutorService pool = Pools.of(peer, workers);
        long elapsed;
        if (point.word("what").equals("workers")) {
            warmUp(pool, tasks);
            elapsed = time(pool, 1, tasks, () -> Tally::count);
        } else {
            int queued = point.number("queued");
            int hops = tasks / queued;
            CountDownLatch gate = Pools.gather(pool, workers);
            var all = Tally.expect((long) hops * queued);
            for (int i = 0; i < queued; i++) pool.execute(new Hop(pool, hops));
            long begun = System.nanoTime();
            gate.countDown();
            all.await();
            elapsed = System.nanoTime() - begun;
        }
        Pools.end(pool);
        return List.of(Figure.per("per task", elapsed, tasks));
    }

    private record Hop(Executor pool, int left) implements Runnable {
        @Override
        public void run() {
            if (left > 1) pool.execute(new Hop(pool, left - 1));
            Tally.count();
        }
    }
}
