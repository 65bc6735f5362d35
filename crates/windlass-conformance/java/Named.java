/** What stands in a queue and has a name. */
interface Named {
    String name();
}
