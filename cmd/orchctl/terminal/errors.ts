/** Errors that end a command. */

/** The command line is wrong; the message is followed by where to find help. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Ends with a message and an exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Ends with a message that has no prefix. */
export class PlainError extends Error {
  override readonly name = 'PlainError';
}

/** Ends with an exit code; what there is to say was printed. */
export class SilentExit extends Error {
  override readonly name = 'SilentExit';
  readonly exitCode: number;
  constructor(exitCode: number) {
    super(`exit code ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** Throws nothing without errors, the error if it is one, or else all of them together. */
export function throwAll(errors: readonly unknown[]): void {
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors);
}
