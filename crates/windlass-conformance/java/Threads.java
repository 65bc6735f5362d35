import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Makes a number of threads and then no more. */
final class Threads implements ThreadFactory {
    private final Tempo tempo;
    private final AtomicInteger left;

    Threads(Tempo tempo, int limit) {
        this.tempo = tempo;
        this.left = new AtomicInteger(limit);
    }

    @Override public Thread newThread(Runnable body) {
        if (left.getAndUpdate(n -> Math.max(0, n - 1)) == 0) return null;
        Thread thread = new Thread(body) {
            @Override public void start() {
                super.start();
                tempo.afterStart();
            }

            @Override public void run() {
                tempo.atWork();
                super.run();
            }
        };
        thread.setDaemon(true);
        thread.setUncaughtExceptionHandler((worker, failure) -> { }); // the failures are meant
        return thread;
    }
}
