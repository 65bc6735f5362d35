import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Delayed;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

/** One run of one scenario, on the thread that counts as the caller. */
final class ScenarioRun implements AutoCloseable {
    /** Longer than any run. */
    private static final long NEVER = TimeUnit.DAYS.toMillis(10);

    private final Perturbation perturbation;
    private final TaskLog log = new TaskLog();
    private final Quiescence quiescence;
    private final Map<String, ScriptedTask> tasks = new HashMap<>();
    private final Map<String, Future<?>> handles = new HashMap<>();
    private Hooks hooks;
    private ThreadPoolExecutor pool;

    ScenarioRun(Perturbation perturbation, Quiescence quiescence) {
        this.perturbation = perturbation;
        this.quiescence = quiescence;
    }

    String run(List<String> scenario) {
        StringBuilder transcript = new StringBuilder();
        for (String line : scenario) {
            transcript.append(line).append('\n');
            if (line.startsWith("#")) continue;
            try {
                transcript.append("> ").append(result(Instruction.of(line))).append('\n');
                transcript.append("= ").append(quiescence.await(this::state)).append('\n');
            } catch (InvalidScenario e) {
                throw e;
            } catch (Exception e) {
                throw new InvalidScenario(line + ": " + e);
            }
        }
        return transcript.append('\n').toString();
    }

    private String result(Instruction step) throws InterruptedException {
        if (pool == null && !step.verb().equals("pool")) throw new InvalidScenario("no pool for: " + step.line());
        try {
            return apply(step);
        } catch (RejectedExecutionException e) {
            return "rejected";
        } catch (IllegalArgumentException e) {
            return "invalid-argument";
        } catch (ScriptedFailure e) {
            return "failed"; // a task that ran on the caller's thread, under caller-runs
        }
    }

    private String apply(Instruction step) throws InterruptedException {
        switch (step.verb()) {
            case "pool" -> build(step);
            case "execute" -> pool.execute(task(step));
            case "submit" -> submit(step);
            case "schedule", "fixed_rate", "fixed_delay" -> schedule(step);
            case "finish" -> known(step).permit(1);
            case "fail" -> {
                known(step).setFailing();
                known(step).permit(1);
            }
            case "set" -> step.options().forEach((key, value) -> set(key, value, step));
            case "purge" -> pool.purge();
            case "shutdown" -> pool.shutdown();
            default -> {
                return answer(step);
            }
        }
        return "ok";
    }

    private String answer(Instruction step) throws InterruptedException {
        return switch (step.verb()) {
            case "cancel" -> "" + handle(step).cancel(step.has("interrupt"));
            case "get" -> get(handle(step), step.number("timeout"));
            case "future" -> handle(step).isCancelled() ? "cancelled" : handle(step).isDone() ? "done" : "pending";
            case "prestart" -> step.has("all") ? "" + pool.prestartAllCoreThreads() : "" + pool.prestartCoreThread();
            case "remove" -> "" + pool.remove(queued(step));
            case "shutdown_now" -> brackets(pool.shutdownNow().stream().map(this::nameOf).toList());
            case "await" -> "" + pool.awaitTermination(step.number("timeout"), MILLISECONDS);
            default -> throw new InvalidScenario("no such step: " + step.line());
        };
    }

    private void build(Instruction step) {
        hooks = new Hooks(perturbation);
        ThreadFactory threads = new LimitedThreadFactory(perturbation, step.count("factory_limit", Integer.MAX_VALUE));
        if (step.options().getOrDefault("kind", "").equals("scheduled")) {
            quiescence.scheduled();
            pool = new TimedPool(step, threads, hooks);
            step.options().forEach((key, value) -> {
                if (!Set.of("kind", "core", "policy", "factory_limit").contains(key)) set(key, value, step);
            });
            return;
        }
        boolean never = step.text("keep_alive").equals("never");
        long keepAlive = never ? NEVER : step.number("keep_alive");
        if (!never) quiescence.builtWith(keepAlive);
        pool = new PlainPool(step, keepAlive, threads, hooks);
        if (step.options().containsKey("core_timeout")) set("core_timeout", step.text("core_timeout"), step);
    }

    private void set(String key, String value, Instruction step) {
        boolean on = Boolean.parseBoolean(value);
        switch (key) {
            case "core" -> pool.setCorePoolSize(step.count(key));
            case "max" -> pool.setMaximumPoolSize(step.count(key));
            case "policy" -> pool.setRejectedExecutionHandler(RejectionPolicy.of(value));
            case "core_timeout" -> pool.allowCoreThreadTimeOut(on);
            case "keep_alive" -> {
                quiescence.changedTo(step.number(key));
                pool.setKeepAliveTime(step.number(key), MILLISECONDS);
            }
            case "remove_on_cancel" -> timed(step).setRemoveOnCancelPolicy(on);
            case "periodic_after_shutdown" -> timed(step).setContinueExistingPeriodicTasksAfterShutdownPolicy(on);
            case "delayed_after_shutdown" -> timed(step).setExecuteExistingDelayedTasksAfterShutdownPolicy(on);
            default -> throw new InvalidScenario("no such setting: " + step.line());
        }
    }

    private void submit(Instruction step) {
        ScriptedTask task = task(step);
        if (pool instanceof TimedPool timed) {
            handles.put(task.name(), timed.submit((Callable<String>) task));
            return;
        }
        ScriptedFuture future = new ScriptedFuture(task);
        handles.put(future.name(), future); // also where the pool then rejects it
        pool.execute(future);
    }

    private void schedule(Instruction step) {
        ScriptedTask task = task(step);
        TimedPool timed = timed(step);
        handles.put(task.name(), switch (step.verb()) {
            case "schedule" -> timed.schedule((Callable<String>) task, step.number("delay"), MILLISECONDS);
            case "fixed_rate" ->
                timed.scheduleAtFixedRate(task, step.number("initial"), step.number("period"), MILLISECONDS);
            default -> timed.scheduleWithFixedDelay(task, step.number("initial"), step.number("delay"), MILLISECONDS);
        });
    }

    private static String get(Future<?> handle, long timeout) throws InterruptedException {
        try {
            return "value " + handle.get(timeout, MILLISECONDS);
        } catch (ExecutionException e) {
            return "failed";
        } catch (CancellationException e) {
            return "cancelled";
        } catch (TimeoutException e) {
            return "timeout";
        }
    }

    private ScriptedTask task(Instruction step) {
        ScriptedTask task = new ScriptedTask(step, log);
        if (tasks.put(task.name(), task) != null) throw new InvalidScenario("twice: " + step.line());
        return task;
    }

    private ScriptedTask known(Instruction step) {
        ScriptedTask task = tasks.get(step.task());
        if (task == null) throw new InvalidScenario("no such task: " + step.line());
        return task;
    }

    private Future<?> handle(Instruction step) {
        Future<?> handle = handles.get(step.task());
        if (handle == null) throw new InvalidScenario("no handle for: " + step.line());
        return handle;
    }

    /** What would stand in the queue for a task: its future where it has one. */
    private Runnable queued(Instruction step) {
        ScriptedTask task = known(step);
        return handles.get(step.task()) instanceof Runnable future ? future : task;
    }

    private TimedPool timed(Instruction step) {
        if (pool instanceof TimedPool timed) return timed;
        throw new InvalidScenario("not on this pool: " + step.line());
    }

    private String nameOf(Runnable queued) {
        return pool instanceof TimedPool timed ? timed.nameOf(queued) : ((Named) queued).name();
    }

    /** The queue in the order in which workers would take from it. */
    private List<String> queue() {
        List<Runnable> queue = new ArrayList<>(List.of(pool.getQueue().toArray(Runnable[]::new)));
        if (pool instanceof TimedPool) queue.sort(Comparator.comparing(task -> (Delayed) task));
        if (pool.getQueue() instanceof PriorityBlockingQueue) {
            queue.sort(Comparator.comparingInt(task -> ((ScriptedTask) task).rank()));
        }
        return queue.stream().map(this::nameOf).toList();
    }

    private String state() {
        if (pool == null) return "none";
        StringJoiner line = new StringJoiner(" ");
        line.add(pool.isTerminated() ? "terminated" : pool.isShutdown() ? "shutdown" : "running");
        figure(line, "pool", pool.getPoolSize());
        figure(line, "active", pool.getActiveCount());
        figure(line, "largest", pool.getLargestPoolSize());
        figure(line, "completed", pool.getCompletedTaskCount());
        figure(line, "total", pool.getTaskCount());
        figure(line, "queue", queue());
        figure(line, "running", new TreeSet<>(log.running));
        figure(line, "finished", TaskLog.entries(log.finished));
        figure(line, "failed", TaskLog.entries(log.failed));
        figure(line, "interrupted", TaskLog.entries(log.interrupted));
        figure(line, "caller", TaskLog.entries(log.onCaller));
        return line.add("hooks=" + hooks).toString();
    }

    private static void figure(StringJoiner line, String name, long value) {
        if (value != 0) line.add(name + "=" + value);
    }

    private static void figure(StringJoiner line, String name, Collection<String> values) {
        if (!values.isEmpty()) line.add(name + "=" + brackets(values));
    }

    private static String brackets(Collection<String> values) { return "[" + String.join(" ", values) + "]"; }

    /** Releases every task, so that this run takes no time from the next. */
    @Override public void close() throws InterruptedException {
        if (pool == null) return;
        pool.setRejectedExecutionHandler(RejectionPolicy.DISCARD);
        pool.shutdownNow();
        tasks.values().forEach(task -> task.permit(1_000_000));
        pool.awaitTermination(1, TimeUnit.SECONDS);
    }
}
