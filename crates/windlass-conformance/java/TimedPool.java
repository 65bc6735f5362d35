import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RunnableScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;

/** The scheduled pool under observation; it remembers which task each of its own futures carries. */
final class TimedPool extends ScheduledThreadPoolExecutor {
    private final Hooks hooks;
    private final Map<Object, String> names = new ConcurrentHashMap<>();

    TimedPool(Instruction step, ThreadFactory threads, Hooks hooks) {
        super(step.count("core"), threads, RejectionPolicy.of(step.text("policy")));
        this.hooks = hooks;
    }

    String nameOf(Object future) { return names.get(future); }

    @Override protected <V> RunnableScheduledFuture<V> decorateTask(
            Runnable inner, RunnableScheduledFuture<V> future) {
        names.put(future, ((Named) inner).name());
        return future;
    }

    @Override protected <V> RunnableScheduledFuture<V> decorateTask(
            Callable<V> inner, RunnableScheduledFuture<V> future) {
        names.put(future, ((Named) inner).name());
        return future;
    }

    @Override protected void beforeExecute(Thread worker, Runnable task) { hooks.before(); }
    @Override protected void afterExecute(Runnable task, Throwable failure) { hooks.after(failure); }
    @Override protected void terminated() { hooks.terminated(); }
}
