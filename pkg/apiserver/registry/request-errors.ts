/** Failures of what a request asks for, shaped as 1.24 shapes them. */
import type { Dialect } from '#apimachinery/dialect.js';
import {
  type FieldFailure,
  invalid,
  methodNotAllowed,
  type Qualified,
  StatusError,
} from '#apimachinery/errors/status.js';

/** Query parameters and small bodies that every resource understands alike. */
export type OptionsKind = 'CreateOptions' | 'DeleteOptions' | 'ListOptions' | 'PatchOptions' | 'UpdateOptions';

/** 422 for options of a request: `DeleteOptions.meta.… "" is invalid: <field>: <message>`. */
export function invalidOptions(dialect: Dialect, kind: OptionsKind, failures: FieldFailure[]): StatusError {
  return invalid({ group: dialect.groupName('meta'), kind }, '', failures);
}

/** The same for options that exclude each other, with the code that the dialect has for these: 400 or 422. */
export function invalidCombination(dialect: Dialect, kind: OptionsKind, failures: FieldFailure[]): StatusError {
  const error = invalidOptions(dialect, kind, failures);
  if (dialect.invalidCombination === error.code) return error;
  return new StatusError({ ...error.status, reason: 'BadRequest', code: dialect.invalidCombination });
}

/** 405 for new objects of a kind whose definition is going. */
export function createWhileTerminating(resource: Qualified): StatusError {
  const message = 'create not allowed while custom resource definition is terminating';
  return new StatusError({ ...methodNotAllowed(resource, 'create').status, message });
}

/** The same for a part of an object: of custom kinds 1.24 tells it in other words. */
export function partMethodNotServed(
  { qualified, edition }: { readonly qualified: Qualified; readonly edition?: string },
  verb: string,
): StatusError {
  return edition === undefined ? methodNotServed(qualified, verb) : methodNotAllowed(qualified, verb);
}

/** 405 for a method that nothing serves at that path. */
export function methodNotServed(resource: Qualified, verb: string): StatusError {
  const message = 'the server does not allow this method on the requested resource';
  return new StatusError({ ...methodNotAllowed(resource, verb).status, message, details: {} });
}

/** What 1.24's store says of a precondition that does not hold. `what`: `UID`, `ResourceVersion`. */
export function failedPrecondition(what: string, wanted: string, stored: string | undefined): string {
  return `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${stored}`;
}
