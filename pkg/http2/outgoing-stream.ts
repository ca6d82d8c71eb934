/** The sending half of a stream: what is still to be sent on it. */
import { DataFrames } from '#http2/data-frames.js';

export interface Part {
  readonly bytes: Buffer | DataFrames;
  readonly left: (() => void) | undefined;
}

const nothing = Buffer.alloc(0);

export class OutgoingStream {
  /** 0 before it is opened. */
  id = 0;
  /** Bytes that the peer still takes. */
  window = 0;
  /** Data that is still to be sent. */
  pending: Buffer | DataFrames = nothing;
  /** Called when that has been written, so that its memory may be used for something else. */
  left: (() => void) | undefined;
  /** Nothing follows the data that is here. */
  ends = false;
  /** All has been sent. */
  done = false;
  /** Behind `pending`; hardly any stream has any. */
  #more: Part[] | undefined;

  get hasMore(): boolean {
    return this.#more !== undefined && this.#more.length > 0;
  }

  /** Puts data behind what is there. */
  add(bytes: Buffer | DataFrames, left?: () => void): void {
    if (this.pending.length === 0 && !this.hasMore) {
      this.pending = bytes;
      this.left = left;
      return;
    }
    this.#more ??= [];
    this.#more.push({ bytes, left });
  }

  /** `pending` has been sent: the next part takes its place. False when there is none. */
  next(): boolean {
    const part = this.#more?.shift();
    this.pending = part?.bytes ?? nothing;
    this.left = part?.left;
    return part !== undefined;
  }

  /** `pending` as bytes: frames that cannot be sent as they are become the parts that they carry. */
  pendingBytes(): Buffer {
    const { pending } = this;
    if (!(pending instanceof DataFrames)) return pending;
    const [first = nothing, ...rest] = pending.payloads();
    const { left } = this;
    if (rest.length > 0) {
      const parts = rest.map((bytes, i) => ({ bytes, left: i === rest.length - 1 ? left : undefined }));
      this.#more = [...parts, ...(this.#more ?? [])];
      this.left = undefined;
    }
    this.pending = first;
    return first;
  }
}
