import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RejectedExecutionHandler;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The pools by their names, as users of the JDK make them, with their threads started. */
final class Pools {
    private Pools() {}

    static ExecutorService of(String peer, int workers) {
        return of(peer, workers, new java.util.ArrayList<>());
    }

    /** Also notes each thread that the pool starts. */
    static ExecutorService of(String peer, int workers, List<Thread> started) {
        ThreadFactory factory = body -> {
            Thread thread = new Thread(body);
            note(started, thread);
            return thread;
        };
        return switch (peer) {
            case "jdk-fork-join" -> new ForkJoinPool(workers, pool -> {
                var thread = ForkJoinPool.defaultForkJoinWorkerThreadFactory.newThread(pool);
                note(started, thread);
                return thread;
            }, null, false);
            case "jdk-scheduled" -> start(new ScheduledThreadPoolExecutor(workers, factory));
            case "jdk-hooks" -> start(new Hooked(workers));
            default -> start(new ThreadPoolExecutor(
                workers, workers, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory));
        };
    }

    private static void note(List<Thread> started, Thread thread) {
        synchronized (started) {
            started.add(thread);
        }
    }

    static ThreadPoolExecutor bounded(String peer, int workers, int capacity, String policy) {
        BlockingQueue<Runnable> queue = switch (peer) {
            case "jdk-array" -> new ArrayBlockingQueue<>(capacity);
            case "jdk-array-fair" -> new ArrayBlockingQueue<>(capacity, true);
            default -> new LinkedBlockingQueue<>(capacity);
        };
        RejectedExecutionHandler handler =
            policy.equals("block") ? Pools::put : new ThreadPoolExecutor.CallerRunsPolicy();
        return start(new ThreadPoolExecutor(workers, workers, 0, TimeUnit.SECONDS, queue, handler));
    }

    private static void put(Runnable task, ThreadPoolExecutor pool) {
        try {
            pool.getQueue().put(task);
        } catch (InterruptedException e) {
            throw new RejectedExecutionException(e);
        }
    }

    private static <P extends ThreadPoolExecutor> P start(P pool) {
        pool.prestartAllCoreThreads();
        return pool;
    }

    /** A pool whose hooks do nothing. */
    private static final class Hooked extends ThreadPoolExecutor {
        Hooked(int workers) {
            super(workers, workers, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
        }

        @Override
        protected void beforeExecute(Thread thread, Runnable task) {}

        @Override
        protected void afterExecute(Runnable task, Throwable failure) {}
    }

    /** Brings all workers to a gate. */
    static CountDownLatch gather(ExecutorService pool, int workers) throws InterruptedException {
        CountDownLatch gate = new CountDownLatch(1);
        CountDownLatch there = new CountDownLatch(workers);
        for (int i = 0; i < workers; i++) {
            pool.execute(() -> {
                there.countDown();
                try {
                    gate.await();
                } catch (InterruptedException e) {
                    // The pool is being stopped, which is what is measured.
                }
            });
        }
        there.await();
        return gate;
    }

    static void end(ExecutorService pool) throws InterruptedException {
        pool.shutdownNow();
        if (!pool.awaitTermination(60, TimeUnit.SECONDS)) throw new IllegalStateException("the pool does not end");
    }
}
