/** The newest frames of watches: a change goes to all watchers of a form one after the other, as the same bytes. */
import type { ResourceEvent } from '#storage/resource-storage.js';

interface Frame {
  readonly event: ResourceEvent;
  readonly form: string;
  readonly bytes: Buffer;
}

/** Several changes may be on their way to many watchers at once, in a few forms. */
const kept = 16;

export class RecentFrames {
  readonly #frames: Frame[] = [];
  #next = 0;

  /** The bytes of that very event in that form, made once while it is new. */
  bytes(event: ResourceEvent, form: string, make: () => readonly Buffer[]): Buffer {
    for (const frame of this.#frames) if (frame.event === event && frame.form === form) return frame.bytes;
    const bytes = Buffer.concat(make());
    this.#frames[this.#next] = { event, form, bytes };
    this.#next = (this.#next + 1) % kept;
    return bytes;
  }
}
