import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

/** The plain pool under observation. */
final class PlainPool extends ThreadPoolExecutor {
    private final Hooks hooks;

    PlainPool(Instruction step, long keepAlive, ThreadFactory threads, Hooks hooks) {
        super(step.count("core"), step.count("max"), keepAlive, MILLISECONDS, queue(step.text("queue")), threads,
            RejectionPolicy.of(step.text("policy")));
        this.hooks = hooks;
    }

    private static BlockingQueue<Runnable> queue(String text) {
        int colon = text.indexOf(':');
        String kind = colon < 0 ? text : text.substring(0, colon);
        int capacity = colon < 0 ? Integer.MAX_VALUE : Integer.parseInt(text.substring(colon + 1));
        return switch (kind) {
            case "linked" -> new LinkedBlockingQueue<>(capacity);
            case "array" -> new ArrayBlockingQueue<>(capacity);
            case "sync" -> new SynchronousQueue<>();
            case "priority" -> new PriorityBlockingQueue<>();
            default -> throw new InvalidScenario("no such queue: " + text);
        };
    }

    @Override protected void beforeExecute(Thread worker, Runnable task) { hooks.before(); }
    @Override protected void afterExecute(Runnable task, Throwable failure) { hooks.after(failure); }
    @Override protected void terminated() { hooks.terminated(); }
}
