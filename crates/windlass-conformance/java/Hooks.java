import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Counts a pool's calls of its hooks; slow workers pause here, where every task passes. */
final class Hooks {
    private final AtomicIntegerArray calls = new AtomicIntegerArray(4);
    private final Perturbation perturbation;

    Hooks(Perturbation perturbation) { this.perturbation = perturbation; }

    void before() {
        perturbation.atWork();
        calls.incrementAndGet(0);
    }

    void after(Throwable failure) {
        calls.incrementAndGet(1);
        if (failure != null) calls.incrementAndGet(2);
    }

    void terminated() { calls.incrementAndGet(3); }

    @Override public String toString() {
        return IntStream.range(0, 4).mapToObj(i -> "" + calls.get(i)).collect(Collectors.joining("/"));
    }
}
