/** Failures of query parameters, shaped as 1.24 shapes them. */
import { invalid, type StatusError } from '#apimachinery/errors/status.js';

/** 422 for a list option: `ListOptions.meta.… "" is invalid: <field>: <message>`. */
export function invalidOptions(field: string, reason: string, message: string, kind = 'ListOptions'): StatusError {
  return invalid({ group: '', kind }, '', [{ field, reason: `FieldValue${reason}`, message }]);
}
