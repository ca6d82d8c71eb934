/** Errors of servers, for tests. */
import { type Status, StatusError } from '#apimachinery/errors/status.js';

export function statusError(status: object): StatusError {
  return new StatusError({ status: 'Failure', ...status } as Status);
}
