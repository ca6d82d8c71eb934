import { statusOf } from '#apimachinery/errors/status.js';

/** Whether the write may have succeeded despite the error: the response was lost or the server failed. */
export function isUnclear(error: unknown): boolean {
  return (statusOf(error)?.code ?? 500) >= 500;
}

/** Whether a create was rejected because the namespace is being deleted. Retrying does not help. */
export function isNamespaceTerminating(error: unknown): boolean {
  return statusOf(error)?.details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating') ?? false;
}
