import java.util.HashMap;
import java.util.Map;

/** One setting of a workload's parameters, written {@code workers=2,producers=1}. */
final class Point {
    private final Map<String, String> parts = new HashMap<>();

    Point(String text) {
        for (String part : text.split(",")) {
            String[] pair = part.split("=", 2);
            parts.put(pair[0], pair[1]);
        }
    }

    boolean has(String key) {
        return parts.containsKey(key);
    }

    String word(String key) {
        String value = parts.get(key);
        if (value == null) throw new IllegalArgumentException("no " + key);
        return value;
    }

    int number(String key) {
        return Integer.parseInt(word(key));
    }
}
