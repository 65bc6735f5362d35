import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;

/** What the tasks of one run did, as far as the pool itself does not show. */
final class TaskLog {
    private final Thread caller = Thread.currentThread();
    final Set<String> running = ConcurrentHashMap.newKeySet();
    final Map<String, Integer> finished = new ConcurrentSkipListMap<>();
    final Map<String, Integer> failed = new ConcurrentSkipListMap<>();
    final Map<String, Integer> interrupted = new ConcurrentSkipListMap<>();
    final Map<String, Integer> onCaller = new ConcurrentSkipListMap<>();

    boolean isCaller() { return Thread.currentThread() == caller; }

    static void add(Map<String, Integer> tally, String task) { tally.merge(task, 1, Integer::sum); }

    /** Each task once, with the number of its runs where there were several. */
    static List<String> entries(Map<String, Integer> tally) {
        List<String> entries = new ArrayList<>();
        tally.forEach((task, runs) -> entries.add(runs > 1 ? task + "*" + runs : task));
        return entries;
    }
}
