/** Work of a known length: the same as {@code busy.rs}. */
final class Work {
    private static final int TRIALS = 7;
    private static volatile long sink;

    private final long turns;

    private Work(long turns) {
        this.turns = turns;
    }

    static Work ofMicros(int micros) {
        long probe = 1_000_000;
        // Often enough for the compiler to have its say.
        double nanos = Double.POSITIVE_INFINITY;
        for (int i = 0; i < 5; i++) nanos = Math.min(nanos, new Work(probe).nanos(1));
        return new Work((long) (probe / nanos * micros * 1e3));
    }

    void run() {
        long x = 0x9E3779B97F4A7C15L;
        for (long i = 0; i < turns; i++) x = x * 6364136223846793005L + 1;
        if (x == 1) sink = x;
    }

    double nanos(int repeats) {
        double best = Double.POSITIVE_INFINITY;
        for (int trial = 0; trial < TRIALS; trial++) {
            long begun = System.nanoTime();
            for (int i = 0; i < repeats; i++) run();
            best = Math.min(best, (System.nanoTime() - begun) / (double) repeats);
        }
        return best;
    }
}
