/** Failures of what a request asks for, shaped as 1.24 shapes them. */
import { invalid, methodNotAllowed, type Qualified, StatusError } from '#apimachinery/errors/status.js';

/** 422 for a list option: `ListOptions.meta.… "" is invalid: <field>: <message>`. */
export function invalidOptions(field: string, reason: string, message: string, kind = 'ListOptions'): StatusError {
  return invalid({ group: '', kind }, '', [{ field, reason: `FieldValue${reason}`, message }]);
}

/** 405 for a method that nothing serves at that path. */
export function methodNotServed(resource: Qualified, verb: string): StatusError {
  const message = 'the server does not allow this method on the requested resource';
  return new StatusError({ ...methodNotAllowed(resource, verb).status, message, details: {} });
}
