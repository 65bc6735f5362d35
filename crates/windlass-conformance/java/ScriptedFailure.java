/** The failure of a task that the scenario lets fail, or that was interrupted. */
final class ScriptedFailure extends RuntimeException {
    ScriptedFailure(String task) { super(task); }
}
