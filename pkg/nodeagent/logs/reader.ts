/** Reads a container's log as clients ask for it, and goes on as it grows, across rotations. */
import { parseTime } from '#apimachinery/clock.js';
import { parseLogLine } from '#nodeagent/logs/line.js';
import type { LogFile, LogFiles } from '#nodeagent/logs/log-files.js';
import { tailOffset } from '#nodeagent/logs/tail.js';

export interface LogRequest {
  readonly follow: boolean;
  /** Undefined: all of it. */
  readonly tailLines?: number;
  /** Lines from this instant (ms) on. */
  readonly since?: number;
  readonly timestamps: boolean;
  readonly limitBytes?: number;
}

/** Whether the container still writes, and when that changes. */
export interface Writer {
  running(): boolean;
  onChange(handler: () => void): () => void;
}

const blockBytes = 64 * 1024;
const lineFeed = 0x0a;
/** Runtimes write lines of 16 KiB at most; what is longer is none of theirs, and passed over. */
const maxLineBytes = 1024 * 1024;

/** Turns raw bytes of a log file into what a client gets. Keeps what of a line has not come yet. */
class LineFilter {
  readonly #request: LogRequest;
  #rest: Buffer = Buffer.alloc(0);
  /** The rest of the line under way is passed over. */
  #skips = false;
  /** Whether the next text begins a line, per stream: a timestamp stands before whole lines only. */
  readonly #begins = { stdout: true, stderr: true };

  constructor(request: LogRequest) {
    this.#request = request;
  }

  push(block: Buffer): Buffer[] {
    const all = this.#rest.length === 0 ? block : Buffer.concat([this.#rest, block]);
    const out: Buffer[] = [];
    let start = 0;
    for (let end = all.indexOf(lineFeed, start); end >= 0; end = all.indexOf(lineFeed, start)) {
      if (!this.#skips) this.#line(all.subarray(start, end), out);
      this.#skips = false;
      start = end + 1;
    }
    this.#skips ||= all.length - start > maxLineBytes;
    this.#rest = this.#skips ? Buffer.alloc(0) : Buffer.from(all.subarray(start));
    return out;
  }

  #line(raw: Buffer, out: Buffer[]): void {
    const line = parseLogLine(raw);
    if (line === undefined) return;
    const { since, timestamps } = this.#request;
    if (since !== undefined && parseTime(line.time) < since) return;
    if (timestamps && this.#begins[line.stream]) out.push(Buffer.from(`${line.time} `));
    this.#begins[line.stream] = !line.partial;
    out.push(line.text);
    if (!line.partial) out.push(Buffer.from('\n'));
  }
}

class FollowedFile {
  readonly #files: LogFiles;
  readonly #path: string;
  #file: LogFile;
  #offset: number;

  constructor(files: LogFiles, path: string, file: LogFile, offset: number) {
    this.#files = files;
    this.#path = path;
    this.#file = file;
    this.#offset = offset;
  }

  /** The next bytes; empty at the end. */
  async read(): Promise<Buffer> {
    const block = await this.#file.read(this.#offset, blockBytes);
    this.#offset += block.length;
    return block;
  }

  /** At the end of a file that was moved away: goes on with the one that took its name. False when there is none. */
  async next(): Promise<boolean> {
    const current = await this.#files.open(this.#path);
    if (current === undefined) return false;
    if (current.identity === this.#file.identity) {
      await current.close();
      // Cut off in place: begins anew.
      if ((await this.#file.size()) >= this.#offset) return false;
      this.#offset = 0;
      return true;
    }
    await this.#file.close();
    this.#file = current;
    this.#offset = 0;
    return true;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Wakes a waiting reader; a call while nobody waits is remembered. */
class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring = (): void => {
    this.#rung = true;
    this.#wake?.();
  };

  async wait(): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#rung = false;
    this.#wake = undefined;
  }
}

export interface ReadLogOptions {
  readonly files: LogFiles;
  readonly path: string;
  readonly request: LogRequest;
  readonly writer: Writer;
  readonly signal: AbortSignal;
}

/** The text of the log, in chunks. Ends with the log, with its container when following, or when the signal aborts. */
export async function* readLog(options: ReadLogOptions): AsyncGenerator<Buffer> {
  const { files, path, request } = options;
  const file = await files.open(path);
  if (file === undefined) return;
  const offset = request.tailLines === undefined ? 0 : await tailOffset(file, request.tailLines);
  const followed = new FollowedFile(files, path, file, offset);
  let left = request.limitBytes ?? Number.POSITIVE_INFINITY;
  try {
    for await (const chunk of lines(followed, options)) {
      yield chunk.length > left ? chunk.subarray(0, left) : chunk;
      left -= chunk.length;
      if (left <= 0) return;
    }
  } finally {
    await followed.close();
  }
}

async function* lines(followed: FollowedFile, options: ReadLogOptions): AsyncGenerator<Buffer> {
  const { files, path, request, writer, signal } = options;
  const filter = new LineFilter(request);
  const bell = new Bell();
  const endings = request.follow ? [files.watch(path, bell.ring), writer.onChange(bell.ring)] : [];
  signal.addEventListener('abort', bell.ring, { once: true });
  try {
    while (!signal.aborted) {
      // Asked before the last read: what is written before an end is read after it.
      const running = writer.running();
      let block = await followed.read();
      while (block.length > 0 && !signal.aborted) {
        const texts = filter.push(block);
        if (texts.length > 0) yield Buffer.concat(texts);
        block = await followed.read();
      }
      if (await followed.next()) continue;
      if (!request.follow || !running) return;
      await bell.wait();
    }
  } finally {
    for (const end of endings) end();
    signal.removeEventListener('abort', bell.ring);
  }
}
