import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Semaphore;

/** A task of a scenario. A run of it waits for a permit, unless it is instant, failing, or on the caller's thread. */
final class ScriptedTask implements Runnable, Callable<String>, Named, Comparable<ScriptedTask> {
    private final String name;
    private final TaskLog log;
    private final int rank;
    private final boolean held;
    private final Semaphore permits = new Semaphore(0);
    private volatile boolean failing;

    ScriptedTask(Instruction step, TaskLog log) {
        this.name = step.task();
        this.log = log;
        this.rank = step.count("priority", 0);
        this.failing = step.has("failing");
        this.held = !failing && !step.has("instant");
    }

    @Override public String name() { return name; }

    int rank() { return rank; }

    void permit(int runs) { permits.release(runs); }

    void setFailing() { failing = true; }

    @Override public void run() { call(); }

    @Override public String call() {
        if (log.isCaller()) {
            TaskLog.add(log.onCaller, name);
            return result();
        }
        Map<String, Integer> end = log.failed;
        log.running.add(name);
        try {
            if (held) permits.acquire();
            String result = result();
            end = log.finished;
            return result;
        } catch (InterruptedException e) {
            end = log.interrupted;
            throw new ScriptedFailure(name);
        } finally {
            TaskLog.add(end, name);
            log.running.remove(name);
        }
    }

    private String result() {
        if (failing) throw new ScriptedFailure(name);
        return name;
    }

    @Override public int compareTo(ScriptedTask other) { return Integer.compare(rank, other.rank); }
}
