/** Attach sessions of a simulated container, and the standard input that they share. */
import { once } from 'node:events';
import type { SessionStreams } from '#nodeagent/cri/cri.js';

/** Longer lines are split in the log, as runtimes do. */
const maxLineBytes = 16 * 1024;
/** Limit of buffered output per session. */
const maxWaitingBytes = 1024 * 1024;

export interface AttachmentsOptions {
  /** Whether the program copies its input to its output. */
  readonly copiesInput: boolean;
  /** Whether the end of a session's input ends the program's. */
  readonly stdinOnce: boolean;
  readonly log: (line: string) => void;
  readonly onInputEnd: () => void;
}

export class Attachments {
  readonly #options: AttachmentsOptions;
  readonly #sessions = new Set<SessionStreams>();
  readonly #exited = new AbortController();
  #line: Buffer = Buffer.alloc(0);
  #inputEnded = false;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /** Resolves when the container exits or the session's signal aborts. */
  async join(streams: SessionStreams): Promise<void> {
    const { stdin, signal } = streams;
    const over = AbortSignal.any([this.#exited.signal, ...(signal === undefined ? [] : [signal])]);
    if (over.aborted) return;
    this.#sessions.add(streams);
    const disconnected = once(over, 'abort');
    if (stdin !== undefined) void this.#read(stdin, over);
    await disconnected;
    this.#sessions.delete(streams);
  }

  /** Sends output to all sessions; slow ones miss some, since the program cannot wait. */
  write(stream: 'stdout' | 'stderr', text: string): void {
    for (const session of this.#sessions) {
      const to = target(session, stream);
      if (to !== undefined && to.writableLength < maxWaitingBytes) to.write(text);
    }
  }

  /** The container has exited. */
  end(): void {
    if (this.#line.length > 0) this.#options.log(this.#line.toString());
    this.#exited.abort();
  }

  /** Never rejects: a broken session counts as the end of its input. */
  async #read(stdin: AsyncIterable<Buffer>, over: AbortSignal): Promise<void> {
    const { copiesInput, stdinOnce, onInputEnd } = this.#options;
    try {
      for await (const chunk of stdin) {
        if (over.aborted) return;
        if (copiesInput && !this.#inputEnded) await this.#copy(Buffer.from(chunk), over);
      }
    } catch {
      // The session broke off.
    }
    if (!copiesInput || !stdinOnce || this.#inputEnded || this.#exited.signal.aborted) return;
    this.#inputEnded = true;
    onInputEnd();
  }

  /** Waits for the slowest session. */
  async #copy(chunk: Buffer, over: AbortSignal): Promise<void> {
    this.#log(chunk);
    const full = [...this.#sessions]
      .map((session) => target(session, 'stdout'))
      .filter((to) => to?.write(chunk) === false);
    for (const to of full) if (to?.writableNeedDrain === true) await once(to, 'drain', { signal: over });
  }

  #log(chunk: Buffer): void {
    let rest = this.#line.length === 0 ? chunk : Buffer.concat([this.#line, chunk]);
    for (;;) {
      const end = rest.indexOf(10);
      const cut = end < 0 ? (rest.length >= maxLineBytes ? maxLineBytes : -1) : Math.min(end, maxLineBytes);
      if (cut < 0) break;
      this.#options.log(rest.toString('utf8', 0, cut));
      rest = rest.subarray(cut === end ? cut + 1 : cut);
    }
    this.#line = Buffer.from(rest);
  }
}

/** A terminal has a single output. */
function target(session: SessionStreams, stream: 'stdout' | 'stderr') {
  return stream === 'stderr' && session.tty ? session.stdout : session[stream];
}
