/** A message for the person who runs the generator: one sentence, printed without a stack trace. */
final class GeneratorException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    GeneratorException(String message) {
        super(message);
    }
}
