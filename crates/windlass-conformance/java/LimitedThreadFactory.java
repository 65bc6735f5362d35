import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Creates a number of threads and then no more. */
final class LimitedThreadFactory implements ThreadFactory {
    private final Perturbation perturbation;
    private final AtomicInteger left;

    LimitedThreadFactory(Perturbation perturbation, int limit) {
        this.perturbation = perturbation;
        this.left = new AtomicInteger(limit);
    }

    @Override public Thread newThread(Runnable body) {
        if (left.getAndUpdate(n -> Math.max(0, n - 1)) == 0) return null;
        Thread thread = new Thread(body) {
            @Override public void start() {
                super.start();
                perturbation.afterStart();
            }

            @Override public void run() {
                perturbation.atWork();
                super.run();
            }
        };
        thread.setDaemon(true);
        thread.setUncaughtExceptionHandler((worker, failure) -> { }); // the failures are meant
        return thread;
    }
}
