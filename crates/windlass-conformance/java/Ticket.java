import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/** The future of an errand on a plain pool. */
final class Ticket extends FutureTask<String> implements Named {
    private final String name;

    Ticket(Errand errand) {
        super((Callable<String>) errand);
        name = errand.name();
    }

    @Override public String name() { return name; }
}
