/** Errors of requests, in the words of 1.24. */
import type { Dialect } from '#apimachinery/dialect.js';
import {
  type FieldFailure,
  invalid,
  methodNotAllowed,
  type Qualified,
  StatusError,
} from '#apimachinery/errors/status.js';

/** Options in query parameters and small bodies, common to all resources. */
export type OptionsKind = 'CreateOptions' | 'DeleteOptions' | 'ListOptions' | 'PatchOptions' | 'UpdateOptions';

/** 422 for options of a request: `DeleteOptions.meta.… "" is invalid: <field>: <message>`. */
export function invalidOptions(dialect: Dialect, kind: OptionsKind, failures: FieldFailure[]): StatusError {
  return invalid({ group: dialect.groupName('meta'), kind }, '', failures);
}

/** Failures of options that exclude each other; the dialect chooses between 400 and 422. */
export function invalidCombination(dialect: Dialect, kind: OptionsKind, failures: FieldFailure[]): StatusError {
  const error = invalidOptions(dialect, kind, failures);
  if (dialect.invalidCombination === error.code) return error;
  return new StatusError({ ...error.status, reason: 'BadRequest', code: dialect.invalidCombination });
}

/** 405 for a new object of a kind whose definition is being deleted. */
export function createWhileTerminating(resource: Qualified): StatusError {
  const message = 'create not allowed while custom resource definition is terminating';
  return new StatusError({ ...methodNotAllowed(resource, 'create').status, message });
}

/** 405 for a subresource; 1.24 words it differently for custom kinds. */
export function partMethodNotServed(
  { qualified, edition }: { readonly qualified: Qualified; readonly edition?: string },
  verb: string,
): StatusError {
  return edition === undefined ? methodNotServed(qualified, verb) : methodNotAllowed(qualified, verb);
}

export function methodNotServed(resource: Qualified, verb: string): StatusError {
  const message = 'the server does not allow this method on the requested resource';
  return new StatusError({ ...methodNotAllowed(resource, verb).status, message, details: {} });
}

/** The error text of 1.24's store for a failed precondition. `what`: `UID`, `ResourceVersion`. */
export function failedPrecondition(what: string, expected: string, stored: string | undefined): string {
  return `Precondition failed: ${what} in precondition: ${expected}, ${what} in object meta: ${stored}`;
}
