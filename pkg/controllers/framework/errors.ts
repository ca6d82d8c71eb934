/** What controllers ask of failures. */
import { statusOf } from '#apimachinery/errors/status.js';

/** A creation was refused because its namespace is being deleted: no failure, and trying again would not help. */
export function isNamespaceTerminating(error: unknown): boolean {
  return statusOf(error)?.details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating') ?? false;
}
