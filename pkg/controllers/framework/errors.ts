/** What controllers ask of failures. */
import { statusOf } from '#apimachinery/errors/status.js';

/** The server may have done what was asked although it did not say so: its answer was lost, or it failed on the way. */
export function isUnclear(error: unknown): boolean {
  return (statusOf(error)?.code ?? 500) >= 500;
}

/** A creation was refused because its namespace is being deleted: no failure, and trying again would not help. */
export function isNamespaceTerminating(error: unknown): boolean {
  return statusOf(error)?.details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating') ?? false;
}
