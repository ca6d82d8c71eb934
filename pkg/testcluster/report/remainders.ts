/** Which of the objects that clients created or deleted still exist. */
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { Remainder } from '#testcluster/report/analyze.js';
import type { RequestLog } from '#testcluster/report/request-log.js';
import type { Creation } from '#testcluster/report/tracks.js';

/** Reads at once. */
const batchSize = 16;

interface Existing {
  readonly metadata?: {
    readonly uid?: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
  };
}

/** By path. Rejects when the signal aborts. */
export async function remainders(
  client: Pick<Client, 'request'>,
  log: RequestLog,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Remainder>> {
  const lives = new Map<string, Creation>([...log.deletions.entries(), ...log.creations.entries()]);
  const remaining = new Map<string, Remainder>();
  const paths = [...lives];
  for (let at = 0; at < paths.length; at += batchSize) {
    await Promise.all(
      paths.slice(at, at + batchSize).map(async ([path, { uid }]) => {
        const object = await existing(client, path, signal);
        // Another object may have the name by now.
        if (object === undefined || (uid !== '' && object.metadata?.uid !== uid)) return;
        const { deletionTimestamp, finalizers = [] } = object.metadata ?? {};
        remaining.set(path, { isDeleting: deletionTimestamp !== undefined, finalizers });
      }),
    );
  }
  return remaining;
}

async function existing(
  client: Pick<Client, 'request'>,
  path: string,
  signal: AbortSignal,
): Promise<Existing | undefined> {
  try {
    return await client.request<Existing>('GET', path, undefined, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
