import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/** The future of a task on a plain pool. */
final class ScriptedFuture extends FutureTask<String> implements Named {
    private final String name;

    ScriptedFuture(ScriptedTask task) {
        super((Callable<String>) task);
        name = task.name();
    }

    @Override public String name() { return name; }
}
