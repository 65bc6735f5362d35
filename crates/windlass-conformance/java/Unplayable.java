/** A step that cannot be carried out, which is the scenario's fault and says nothing about the pool. */
final class Unplayable extends RuntimeException {
    Unplayable(String why) { super(why); }
}
