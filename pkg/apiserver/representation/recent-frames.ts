/**
 * What the watches of a server share: encoders, and the newest frames. A change goes to all watchers of a form one after
 * the other, as the same bytes; where several changes wait for each of them, those are joined into the same bytes, too.
 */
import type { Encoding } from '#apimachinery/codec/negotiate.js';
import type { FrameEncoder } from '#apiserver/representation/watch-frames.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { ResourceEvent } from '#storage/resource-storage.js';

/** Events in a row as the bytes of one form. */
export interface Run {
  readonly events: readonly ResourceEvent[];
  readonly form: string;
  readonly bytes: Buffer;
  /** Of each event. */
  readonly sizes: readonly number[];
}

/** Several changes may be on their way to many watchers at once, in a few forms. */
const kept = 16;
/** A run ends with the event that makes it so long. */
const runBytes = 48 * 1024;

export class RecentFrames {
  readonly #encoders = new WeakMap<ServedResource, Map<Encoding, FrameEncoder>>();
  readonly #runs: Run[] = [];
  #next = 0;
  /** The one that was asked for last: those who wait for the same come one after the other. */
  #last: Run | undefined;

  /** The one encoder of a resource's whole objects in that format: it knows nothing of the watch. */
  encoder(resource: ServedResource, format: Encoding, make: () => FrameEncoder): FrameEncoder {
    let encoders = this.#encoders.get(resource);
    if (encoders === undefined) {
      encoders = new Map();
      this.#encoders.set(resource, encoders);
    }
    let encoder = encoders.get(format);
    if (encoder === undefined) {
      encoder = make();
      encoders.set(format, encoder);
    }
    return encoder;
  }

  /** As many of these very events, from the one `at`, as one run has in that form: at least one. Made once while it is new. */
  run(batch: readonly ResourceEvent[], at: number, form: string, encoder: FrameEncoder): Run {
    const last = this.#last;
    if (last !== undefined && begins(batch, at, form, last)) return last;
    const run = this.#runs.find((each) => begins(batch, at, form, each)) ?? this.#make(batch, at, form, encoder);
    this.#last = run;
    return run;
  }

  #make(batch: readonly ResourceEvent[], at: number, form: string, encoder: FrameEncoder): Run {
    const parts: Buffer[] = [];
    const sizes: number[] = [];
    let total = 0;
    let end = at;
    while (end < batch.length && total < runBytes) {
      let size = 0;
      for (const part of encoder.event(batch[end] as ResourceEvent)) {
        parts.push(part);
        size += part.length;
      }
      sizes.push(size);
      total += size;
      end++;
    }
    const run: Run = { events: batch.slice(at, end), form, bytes: Buffer.concat(parts, total), sizes };
    this.#runs[this.#next] = run;
    this.#next = (this.#next + 1) % kept;
    return run;
  }
}

/** Whether these events are the next of the batch. */
function begins(batch: readonly ResourceEvent[], at: number, form: string, run: Run): boolean {
  const { events } = run;
  if (events[0] !== batch[at] || events.length > batch.length - at || form !== run.form) return false;
  for (let i = 1; i < events.length; i++) if (events[i] !== batch[at + i]) return false;
  return true;
}
