/**
 * One watch at etcd: reconnects and resumes behind the last revision it gave out.
 *
 * Only periodic progress notifications are believed: those come through the same queue as the events. An answer to a
 * requested one may overtake events before etcd 3.4.25 and 3.5.8 (etcd issue 15220), so none is ever requested.
 */
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { EtcdConnection } from '#storage/etcd/connection.js';
import { translateEtcdError } from '#storage/etcd/errors.js';
import type { GrpcStream } from '#storage/etcd/grpc/call.js';
import {
  type EtcdEvent,
  type EtcdWatchResponse,
  readWatchResponse,
  watchCreateRequest,
} from '#storage/etcd/messages.js';
import { WireReader } from '#storage/etcd/wire.js';
import { type Revision, StoreError, type StoreEvent } from '#storage/store.js';

export interface UpstreamOptions {
  readonly connection: EtcdConnection;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly start: string;
  readonly end: string;
  readonly fromRevision: Revision;
  readonly previous?: boolean;
  readonly signal: AbortSignal;
}

/** Events of whole revisions; without events only the news that nothing is missing up to `revision`. */
export interface UpstreamBatch {
  readonly events: readonly StoreEvent[];
  readonly revision: Revision;
}

const watchPath = '/etcdserverpb.Watch/Watch';
const reconnectBaseMs = 20;
const reconnectMaxMs = 1000;

/** Ends when the signal aborts; throws `compacted` when history is gone. */
export async function* upstream(options: UpstreamOptions): AsyncGenerator<UpstreamBatch, void, void> {
  const { connection, clock, random, log, start, end, previous = false, signal } = options;
  let next = options.fromRevision;
  const backoff = new Backoff({ initialMs: reconnectBaseMs, maxMs: reconnectMaxMs, spread: 0.5, random });
  let stream: GrpcStream | undefined;
  const cancel = () => stream?.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    while (!signal.aborted) {
      let failed = () => {};
      try {
        const opened = await connection.open(watchPath);
        ({ stream, failed } = opened);
        if (signal.aborted) return;
        // One revision earlier than needed: etcd before 3.5.18 forgets a deletion at the very revision of a compaction,
        // and a watch that begins there would miss it without an error.
        const fromRevision = next > 1n ? next - 1n : 1n;
        stream.write(watchCreateRequest({ start, end, fromRevision, previous }));
        let parts: EtcdEvent[] = [];
        // Reading it message by message keeps gRPC's flow control between etcd and a slow reader.
        for await (const bytes of stream) {
          const response = readWatchResponse(new WireReader(bytes));
          if (response.canceled) throw canceled(response);
          if (response.created) continue;
          parts = parts.length === 0 ? response.events : parts.concat(response.events);
          if (response.fragment) continue;
          backoff.reset();
          const revision = parts[parts.length - 1]?.kv.modRevision ?? response.revision;
          const events = parts.filter(({ kv }) => kv.modRevision >= next).map(storeEvent);
          parts = [];
          if (revision < next) continue;
          next = revision + 1n;
          yield { events, revision };
        }
        throw new StoreError('unavailable', 'etcd ended the watch');
      } catch (err) {
        cancel();
        if (signal.aborted) return;
        const error = translateEtcdError(err);
        if (error.code === 'compacted') throw error;
        failed();
        const delayMs = backoff.nextMs();
        log.info({ err: error, delayMs, fromRevision: String(next) }, 'watch of etcd interrupted, resuming');
        await clock.sleep(delayMs, signal);
      }
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}

function canceled(response: EtcdWatchResponse): StoreError {
  if (response.compactRevision > 0n) {
    const { compactRevision: compacted } = response;
    return new StoreError('compacted', `history before revision ${compacted} has been compacted`, { compacted });
  }
  return new StoreError('unavailable', response.cancelReason || 'etcd canceled the watch');
}

function storeEvent({ deleted, kv, previous }: EtcdEvent): StoreEvent {
  const before = previous && { previous };
  if (deleted) return { type: 'delete', key: kv.key, modRevision: kv.modRevision, ...before };
  return { type: 'put', kv, created: kv.createRevision === kv.modRevision, ...before };
}
