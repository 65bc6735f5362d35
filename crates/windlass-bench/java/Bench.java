import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.List;

/**
 * The JDK's side of the benchmark. With arguments it takes one sample; without, one for each line
 * that it reads. A request is workload, point and peer.
 */
public final class Bench {
    private Bench() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            for (Figure figure : sample(arguments)) System.out.println(figure.toLine());
        } else {
            serve();
        }
        // What is left of a pool is not waited for.
        System.exit(0);
    }

    private static void serve() throws IOException {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            String answer;
            try {
                StringBuilder lines = new StringBuilder();
                for (Figure figure : sample(line.split(" "))) lines.append(figure.toLine()).append('\n');
                answer = lines.append("end").toString();
            } catch (Exception | Error e) {
                answer = "failed " + String.valueOf(e).replace('\n', ' ');
            }
            System.out.println(answer);
        }
    }

    private static List<Figure> sample(String[] request) throws Exception {
        Tally.reset();
        // So that no sample pays for the rubbish of the one before it.
        System.gc();
        Point point = new Point(request[1]);
        if (!point.has("busy")) return sample(request[0], point, request[2]);
        Busy busy = new Busy(point.number("busy"));
        try {
            return sample(request[0], point, request[2]);
        } finally {
            busy.end();
        }
    }

    private static List<Figure> sample(String workload, Point point, String peer) throws Exception {
        return switch (workload) {
            case "W1" -> Streams.emptyTasks(peer, point);
            case "W2" -> Streams.results(peer, point);
            case "W3" -> Latency.pingPong(peer, point);
            case "W4" -> Latency.wakeUp(peer, point);
            case "W5" -> Streams.bounded(peer, point);
            case "W6" -> Streams.cached(point);
            case "W7" -> Splitting.forkJoin(point);
            case "W8" -> Streams.spawning(peer, point);
            case "W9" -> Timers.timers(point);
            case "W10" -> Memory.memory(peer, point);
            case "W11" -> Streams.busyTasks(peer, point);
            case "W12" -> Shutdown.shutdown(peer, point);
            case "W13" -> Streams.additions(peer, point);
            case "W14" -> Streams.growth(peer, point);
            case "W15" -> Frugality.frugality(peer, point);
            case "W16" -> sample(point.word("of"), point, peer);
            default -> throw new IllegalArgumentException("there is no workload " + workload);
        };
    }
}
