import java.util.ArrayList;
import java.util.List;

/** Threads that never sleep until the end: what a point asks for by {@code busy}. */
final class Busy {
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean over;

    Busy(int count) {
        Work work = Work.ofMicros(100);
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> {
                while (!over) work.run();
            });
            threads.add(thread);
            thread.start();
        }
    }

    void end() throws InterruptedException {
        over = true;
        for (Thread thread : threads) thread.join();
    }
}
