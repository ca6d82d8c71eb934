/** What the watches of a server share: encoders, and the newest frames: a change goes to all watchers of a form one after the other, as the same bytes. */
import type { Encoding } from '#apimachinery/codec/negotiate.js';
import type { FrameEncoder } from '#apiserver/representation/watch-frames.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { ResourceEvent } from '#storage/resource-storage.js';

interface Frame {
  readonly event: ResourceEvent;
  readonly form: string;
  readonly bytes: Buffer;
}

/** Several changes may be on their way to many watchers at once, in a few forms. */
const kept = 16;

export class RecentFrames {
  readonly #encoders = new WeakMap<ServedResource, Map<Encoding, FrameEncoder>>();
  readonly #frames: Frame[] = [];
  #next = 0;

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

  /** The bytes of that very event in that form, made once while it is new. */
  bytes(event: ResourceEvent, form: string, make: () => readonly Buffer[]): Buffer {
    for (const frame of this.#frames) if (frame.event === event && frame.form === form) return frame.bytes;
    const bytes = Buffer.concat(make());
    this.#frames[this.#next] = { event, form, bytes };
    this.#next = (this.#next + 1) % kept;
    return bytes;
  }
}
