import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Semaphore;

/** A task of a scenario. A run of it waits for a permit, unless it is told not to or is on the caller's thread. */
final class Errand implements Runnable, Callable<String>, Named, Comparable<Errand> {
    private final String name;
    private final Logbook log;
    private final int rank;
    private final boolean held;
    private final Semaphore permits = new Semaphore(0);
    private volatile boolean doomed;

    Errand(Instruction step, Logbook log) {
        this.name = step.task();
        this.log = log;
        this.rank = step.count("priority", 0);
        this.doomed = step.says("failing");
        this.held = !doomed && !step.says("instant");
    }

    @Override public String name() { return name; }

    int rank() { return rank; }

    void permit(int runs) { permits.release(runs); }

    void doom() { doomed = true; }

    @Override public void run() { call(); }

    @Override public String call() {
        if (log.isCaller()) {
            Logbook.add(log.onCaller, name);
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
            throw new Mishap(name);
        } finally {
            Logbook.add(end, name);
            log.running.remove(name);
        }
    }

    private String result() {
        if (doomed) throw new Mishap(name);
        return name;
    }

    @Override public int compareTo(Errand other) { return Integer.compare(rank, other.rank); }
}
