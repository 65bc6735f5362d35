import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One line of a scenario in its parts: {@code verb [task] [key=value | flag]...}. */
record Instruction(String line, String verb, List<String> flags, Map<String, String> options) {

    static Instruction of(String line) {
        String[] words = line.trim().split("\\s+");
        List<String> flags = new ArrayList<>();
        Map<String, String> options = new LinkedHashMap<>();
        for (String word : Arrays.asList(words).subList(1, words.length)) {
            int equals = word.indexOf('=');
            if (equals < 0) flags.add(word);
            else options.put(word.substring(0, equals), word.substring(equals + 1));
        }
        return new Instruction(line, words[0], flags, options);
    }

    String task() {
        if (flags.isEmpty()) throw new InvalidScenario("no task in: " + line);
        return flags.get(0);
    }

    boolean has(String flag) { return flags.contains(flag); }

    String text(String key) {
        String value = options.get(key);
        if (value == null) throw new InvalidScenario("no " + key + " in: " + line);
        return value;
    }

    long number(String key) {
        try {
            return Long.parseLong(text(key));
        } catch (NumberFormatException e) {
            throw new InvalidScenario(key + " is no number in: " + line);
        }
    }

    int count(String key) { return Math.toIntExact(number(key)); }

    int count(String key, int otherwise) { return options.containsKey(key) ? count(key) : otherwise; }
}
