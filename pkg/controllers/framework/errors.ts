/** What controllers need to know about errors. */
import { statusOf } from '#apimachinery/errors/status.js';

/** Whether the write may have happened all the same: the answer was lost, or the server failed on the way. */
export function isUnclear(error: unknown): boolean {
  return (statusOf(error)?.code ?? 500) >= 500;
}

/** A creation was rejected because its namespace is being deleted: not a failure, and retrying would not help. */
export function isNamespaceTerminating(error: unknown): boolean {
  return statusOf(error)?.details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating') ?? false;
}
