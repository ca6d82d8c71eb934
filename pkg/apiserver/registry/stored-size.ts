/** Objects that no store takes are refused before they are made ready for it, which takes ten times their own size. */
import type { OwnMetadata } from '#api/meta/object.js';
import { leastBytes } from '#apimachinery/apply/least-bytes.js';
import { hasReason, requestEntityTooLarge, type StatusError } from '#apimachinery/errors/status.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import type { RequestContext } from '#apiserver/http/context.js';
import { isLarge } from '#apiserver/registry/steps.js';
import type { Entry } from '#storage/resource-storage.js';

/**
 * What 1.24 sends to its store in one message at most, however etcd is configured (gRPC's `MaxCallSendMsgSize`, which its
 * client leaves at 2 MiB); etcd itself takes 1.5 MiB unless told otherwise.
 */
const maxStoredBytes = 2 * 1024 * 1024;

export interface Sized {
  readonly stored?: Pick<Entry, 'size'>;
  /** The type of an object of which all fields are about to get the same manager. */
  readonly managedAs?: TypeInfo;
}

/**
 * Writes an object, and does so without its managers where it is too large for the store with them, as 1.24 does. Throws
 * what `write` throws.
 */
export async function writeFitting<T>(
  { metadata }: OwnMetadata,
  tracked: boolean,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!tracked || metadata.managedFields === undefined || !hasReason(error, 'RequestEntityTooLarge')) throw error;
    delete metadata.managedFields;
    return write();
  }
}

/**
 * 413 for an object that is too large for any store; undefined for others. It is told only to those whose object is
 * valid, as 1.24 does, which learns of it from the store.
 */
export function tooLargeToStore(
  context: RequestContext,
  object: object,
  { stored, managedAs }: Sized = {},
): StatusError | undefined {
  if (!isLarge(context, stored)) return undefined;
  const bytes = leastBytes(object, maxStoredBytes, managedAs);
  if (bytes <= maxStoredBytes) return undefined;
  // In the words of 1.24's client of etcd, which has counted to the end.
  return requestEntityTooLarge(`grpc: trying to send message larger than max (${bytes} vs. ${maxStoredBytes})`);
}
