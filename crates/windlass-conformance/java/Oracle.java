/*
 * Runs scenarios on this JDK's own thread pools and records what they did.
 *
 *     javac -d OUT *.java && java -cp OUT Oracle [--jobs N] < scenarios > transcripts
 *
 * A scenario is run six times: twice as it is, twice with a caller that pauses after each thread it starts, twice
 * with workers that pause when they wake and before each task. Only where all six agree to the letter is it written;
 * so what is written is what the JDK does, and not how fast it happened to do it. On a busy machine a worker may have
 * to wait for a core while its pool seems quiescent, so if runs differ all six are repeated with more patience.
 */

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Reads scenarios, runs each with every perturbation, and writes those whose runs agree. */
public final class Oracle {

    private static final List<Perturbation> RUNS = List.of(
        Perturbation.NONE, Perturbation.SLOW_CALLER, Perturbation.SLOW_WORKERS,
        Perturbation.NONE, Perturbation.SLOW_CALLER, Perturbation.SLOW_WORKERS);

    private static final int MORE_PATIENCE = 4;

    private Oracle() { }

    public static void main(String[] args) throws Exception {
        int jobs = args.length == 2 && args[0].equals("--jobs") ? Integer.parseInt(args[1]) : 16;
        List<List<String>> scenarios = readScenarios();
        ExecutorService threads = Executors.newFixedThreadPool(jobs);
        List<Future<Optional<String>>> transcripts = new ArrayList<>();
        for (List<String> scenario : scenarios) {
            transcripts.add(threads.submit(() -> transcribe(scenario)));
        }
        int kept = 0;
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (Future<Optional<String>> transcript : transcripts) {
            if (transcript.get().isPresent()) {
                out.print(transcript.get().get());
                kept++;
            }
        }
        out.flush();
        System.err.println("kept " + kept + " of " + scenarios.size() + " scenarios");
        System.exit(0); // a scenario may leave a worker behind that nothing can end
    }

    private static List<List<String>> readScenarios() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<List<String>> scenarios = new ArrayList<>();
        boolean apart = true;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            boolean blank = line.isBlank();
            boolean expectation = line.startsWith(">") || line.startsWith("=");
            if (!blank && apart) scenarios.add(new ArrayList<>());
            if (!blank && !expectation) scenarios.get(scenarios.size() - 1).add(line);
            apart = blank;
        }
        return scenarios;
    }

    private static Optional<String> transcribe(List<String> scenario) throws InterruptedException {
        try {
            Optional<String> agreed = agree(scenario, 1);
            return agreed.isPresent() ? agreed : agree(scenario, MORE_PATIENCE);
        } catch (InvalidScenario e) {
            System.err.println(scenario.get(0) + ": " + e.getMessage());
            return Optional.empty();
        }
    }

    /** Runs a scenario with every perturbation; returns nothing where two runs differ. */
    private static Optional<String> agree(List<String> scenario, int patience) throws InterruptedException {
        String agreed = null;
        for (Perturbation perturbation : RUNS) {
            String transcript;
            try (ScenarioRun run = new ScenarioRun(perturbation, new Quiescence(patience))) {
                transcript = run.run(scenario);
            }
            if (agreed != null && !agreed.equals(transcript)) return Optional.empty();
            agreed = transcript;
        }
        return Optional.of(agreed);
    }
}
