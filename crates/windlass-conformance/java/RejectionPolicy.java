import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionHandler;
import java.util.concurrent.ThreadPoolExecutor;

/**
 * The rejection policies. They differ from the JDK's in two points: they cancel the future of a task that they drop, as
 * the JDK's documentation advises, so that nobody waits for it forever; and discard-oldest drops the new task where
 * there is nothing to discard, where the JDK's would call itself until the stack overflows.
 */
enum RejectionPolicy implements RejectedExecutionHandler {
    ABORT {
        private final RejectedExecutionHandler jdk = new ThreadPoolExecutor.AbortPolicy();

        @Override public void rejectedExecution(Runnable task, ThreadPoolExecutor pool) {
            jdk.rejectedExecution(task, pool);
        }
    },
    CALLER_RUNS {
        @Override public void rejectedExecution(Runnable task, ThreadPoolExecutor pool) {
            if (pool.isShutdown()) forget(task);
            else task.run();
        }
    },
    DISCARD {
        @Override public void rejectedExecution(Runnable task, ThreadPoolExecutor pool) { forget(task); }
    },
    DISCARD_OLDEST {
        @Override public void rejectedExecution(Runnable task, ThreadPoolExecutor pool) {
            Runnable oldest = pool.isShutdown() ? null : pool.getQueue().poll();
            forget(oldest == null ? task : oldest);
            if (oldest != null) pool.execute(task);
        }
    };

    static RejectionPolicy of(String word) {
        for (RejectionPolicy policy : values()) {
            if (policy.name().equalsIgnoreCase(word.replace('-', '_'))) return policy;
        }
        throw new InvalidScenario("no such policy: " + word);
    }

    private static void forget(Runnable task) {
        if (task instanceof Future<?> future) future.cancel(false);
    }
}
