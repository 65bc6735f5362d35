import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

/** How long a state must stay unchanged before the pool counts as quiescent. */
final class Quiescence {
    private static final long LIMIT = TimeUnit.SECONDS.toNanos(2);
    private static final int READS = 5;
    private final int patience;
    private long quiet = 8;

    Quiescence(int patience) { this.patience = patience; }

    void scheduled() { quiet = 20; }

    void builtWith(long keepAlive) { if (keepAlive > 0) quiet = outlive(keepAlive); }

    void changedTo(long keepAlive) { quiet = Math.max(quiet, outlive(keepAlive)); }

    private static long outlive(long keepAlive) { return 3 * keepAlive + 40; }

    /** Polls until the state has been the same for long enough and in several reads; gives up after a limit. */
    String await(Callable<String> state) throws Exception {
        long enough = MILLISECONDS.toNanos(quiet * patience);
        long pause = Math.min(4, Math.max(1, quiet / 20));
        long start = System.nanoTime();
        long since = start;
        String last = state.call();
        for (int reads = 1; reads < READS || System.nanoTime() - since < enough; reads++) {
            if (System.nanoTime() - start > LIMIT * patience) break;
            Thread.sleep(pause);
            String now = state.call();
            if (!now.equals(last)) {
                last = now;
                since = System.nanoTime();
                reads = 0;
            }
        }
        return last;
    }
}
