import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/** Work that splits in two and joins: W7. Results are kept in fields, so that none is boxed. */
final class Splitting {
    private static final int LEAF = 8_192;
    private static final int RUNS = 3;
    private static final long LEAF_WAITS = 50_000_000;

    private Splitting() {}

    static List<Figure> forkJoin(Point point) throws Exception {
        ForkJoinPool pool = new ForkJoinPool(point.number("workers"));
        int n = point.number("n");
        LongSupplier run = switch (point.word("what")) {
            case "fib" -> () -> fib(pool, n);
            case "tree" -> {
                Tree tree = new Tree(n);
                yield () -> tree(pool, tree, n);
            }
            case "sort" -> {
                SplitMix random = new SplitMix(1);
                long[] numbers = new long[n];
                for (int i = 0; i < n; i++) numbers[i] = random.next() >>> 1;
                long[] spare = new long[n];
                yield () -> sort(pool, numbers, spare);
            }
            case "leaves" -> () -> leaves(pool, n);
            default -> {
                long[] numbers = new long[n];
                for (int i = 0; i < n; i++) numbers[i] = i;
                yield () -> sum(pool, numbers);
            }
        };
        long nanos = 0;
        for (int i = 0; i < RUNS; i++) nanos = run.getAsLong();
        Pools.end(pool);
        Figure time = new Figure("time", nanos / 1e6, "ms");
        if (!point.word("what").equals("fib")) return List.of(time);
        return List.of(time, Figure.per("per join", nanos, joins(n)));
    }

    /** The calls of the recursion but those for zero and one. */
    private static long joins(int n) {
        return n < 2 ? 0 : 1 + joins(n - 1) + joins(n - 2);
    }

    private static long leaves(ForkJoinPool pool, int count) {
        long begun = System.nanoTime();
        pool.invoke(new Leaves(count));
        return System.nanoTime() - begun;
    }

    private static final class Leaves extends RecursiveAction {
        private static final long serialVersionUID = 1;
        private final int count;

        Leaves(int count) {
            this.count = count;
        }

        @Override
        protected void compute() {
            if (count == 1) {
                long end = System.nanoTime() + LEAF_WAITS;
                for (long left = LEAF_WAITS; left > 0; left = end - System.nanoTime()) LockSupport.parkNanos(left);
            } else {
                int half = count / 2;
                invokeAll(new Leaves(count - half), new Leaves(half));
            }
        }
    }

    private static void check(boolean right) {
        if (!right) throw new IllegalStateException("a result is wrong");
    }

    private static long fib(ForkJoinPool pool, int n) {
        long a = 0;
        long b = 1;
        for (int i = 0; i < n; i++) {
            long next = a + b;
            a = b;
            b = next;
        }
        long begun = System.nanoTime();
        Fib fib = new Fib(n);
        pool.invoke(fib);
        long elapsed = System.nanoTime() - begun;
        check(fib.result == a);
        return elapsed;
    }

    private static final class Fib extends RecursiveAction {
        private static final long serialVersionUID = 1;
        private final int n;
        long result;

        Fib(int n) {
            this.n = n;
        }

        @Override
        protected void compute() {
            if (n < 2) {
                result = n;
                return;
            }
            Fib left = new Fib(n - 1);
            Fib right = new Fib(n - 2);
            right.fork();
            left.compute();
            right.join();
            result = left.result + right.result;
        }
    }

    private static final class Tree {
        final long value = 1;
        final Tree left;
        final Tree right;

        Tree(int height) {
            left = height > 0 ? new Tree(height - 1) : null;
            right = height > 0 ? new Tree(height - 1) : null;
        }
    }

    private static long tree(ForkJoinPool pool, Tree root, int height) {
        long begun = System.nanoTime();
        TreeSum sum = new TreeSum(root);
        pool.invoke(sum);
        long elapsed = System.nanoTime() - begun;
        check(sum.result == (1L << (height + 1)) - 1);
        return elapsed;
    }

    private static final class TreeSum extends RecursiveAction {
        private static final long serialVersionUID = 1;
        private final transient Tree node;
        long result;

        TreeSum(Tree node) {
            this.node = node;
        }

        @Override
        protected void compute() {
            if (node.left == null) {
                result = node.value;
                return;
            }
            TreeSum left = new TreeSum(node.left);
            TreeSum right = new TreeSum(node.right);
            right.fork();
            left.compute();
            right.join();
            result = node.value + left.result + right.result;
        }
    }

    private static long sum(ForkJoinPool pool, long[] numbers) {
        long n = numbers.length;
        long begun = System.nanoTime();
        Sum sum = new Sum(numbers, 0, numbers.length);
        pool.invoke(sum);
        long elapsed = System.nanoTime() - begun;
        check(sum.result == n * (n - 1) / 2);
        return elapsed;
    }

    private static final class Sum extends RecursiveAction {
        private static final long serialVersionUID = 1;
        private final long[] numbers;
        private final int from;
        private final int to;
        long result;

        Sum(long[] numbers, int from, int to) {
            this.numbers = numbers;
            this.from = from;
            this.to = to;
        }

        @Override
        protected void compute() {
            if (to - from <= LEAF) {
                long sum = 0;
                for (int i = from; i < to; i++) sum += numbers[i];
                result = sum;
                return;
            }
            int middle = (from + to) >>> 1;
            Sum left = new Sum(numbers, from, middle);
            Sum right = new Sum(numbers, middle, to);
            right.fork();
            left.compute();
            right.join();
            result = left.result + right.result;
        }
    }

    private static long sort(ForkJoinPool pool, long[] numbers, long[] spare) {
        long[] sorted = numbers.clone();
        long begun = System.nanoTime();
        pool.invoke(new Sort(sorted, spare, 0, sorted.length));
        long elapsed = System.nanoTime() - begun;
        for (int i = 1; i < sorted.length; i++) check(sorted[i - 1] <= sorted[i]);
        return elapsed;
    }

    private static final class Sort extends RecursiveAction {
        private static final long serialVersionUID = 1;
        private final long[] numbers;
        private final long[] spare;
        private final int from;
        private final int to;

        Sort(long[] numbers, long[] spare, int from, int to) {
            this.numbers = numbers;
            this.spare = spare;
            this.from = from;
            this.to = to;
        }

        @Override
        protected void compute() {
            if (to - from <= LEAF) {
                Arrays.sort(numbers, from, to);
                return;
            }
            int middle = (from + to) >>> 1;
            Sort right = new Sort(numbers, spare, middle, to);
            right.fork();
            new Sort(numbers, spare, from, middle).compute();
            right.join();
            merge(middle);
        }

        private void merge(int middle) {
            System.arraycopy(numbers, from, spare, from, middle - from);
            int left = from;
            int right = middle;
            for (int at = from; left < middle; at++) {
                boolean takesRight = right < to && numbers[right] < spare[left];
                numbers[at] = takesRight ? numbers[right++] : spare[left++];
            }
        }
    }
}
