import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The processor time of this process, in nanoseconds. It is that of the kernel's scheduler, thread
 * by thread: the JDK's own figure for the process counts in steps of 10 ms.
 */
final class Cpu {
    private final Map<String, Long> others = threads();
    private final long own = ownTime();

    /** What the threads other than the calling one have used since. */
    long byOthers() {
        long sum = 0;
        for (var thread : threads().entrySet()) {
            sum += thread.getValue() - others.getOrDefault(thread.getKey(), 0L);
        }
        return sum;
    }

    /** What the calling thread has used since. */
    long byThisThread() {
        return ownTime() - own;
    }

    private static long ownTime() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static Map<String, Long> threads() {
        Map<String, Long> times = new HashMap<>();
        try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
            Path own = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName();
            for (Path thread : threads.filter(path -> !path.getFileName().equals(own)).toList()) {
                times.put(thread.toString(), time(thread));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return times;
    }

    private static long time(Path thread) {
        try {
            return Long.parseLong(Files.readString(thread.resolve("schedstat")).split(" ")[0]);
        } catch (IOException e) {
            // It has ended since it was listed.
            return 0;
        }
    }
}
