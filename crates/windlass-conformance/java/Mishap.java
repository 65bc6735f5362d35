/** The failure of a task that was told to fail or was interrupted. */
final class Mishap extends RuntimeException {
    Mishap(String task) { super(task); }
}
