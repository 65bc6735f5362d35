import java.util.Arrays;
import java.util.List;

/** What one sample says about one thing. */
record Figure(String metric, double value, String unit) {
    static Figure per(String metric, long nanos, long count) {
        return new Figure(metric, (double) nanos / Math.max(count, 1), "ns");
    }

    static Figure micros(String metric, double nanos) {
        return new Figure(metric, nanos / 1e3, "us");
    }

    static Figure count(String metric, long count) {
        return new Figure(metric, count, "count");
    }

    /** The median and the 99th percentile of times in nanoseconds. */
    static List<Figure> quantiles(String what, long[] nanos) {
        return List.of(
            micros(what + " p50", quantile(nanos, 0.50)), micros(what + " p99", quantile(nanos, 0.99)));
    }

    private static long quantile(long[] values, double share) {
        Arrays.sort(values);
        return values[(int) Math.round((values.length - 1) * share)];
    }

    String toLine() {
        return metric + "\t" + value + "\t" + unit;
    }
}
