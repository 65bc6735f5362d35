/** A step that cannot be run, which is the scenario's fault and shows nothing about the pool. */
final class InvalidScenario extends RuntimeException {
    InvalidScenario(String why) { super(why); }
}
