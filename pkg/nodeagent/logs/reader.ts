/** Reads a container's log for clients, and follows it across rotations. */
import { parseTime } from '#apimachinery/clock.js';
import { parseLogLine } from '#nodeagent/logs/line.js';
import type { LogFile, LogFiles } from '#nodeagent/logs/log-files.js';
import { tailOffset } from '#nodeagent/logs/tail.js';

export interface LogRequest {
  readonly follow: boolean;
  /** Undefined: all lines. */
  readonly tailLines?: number;
  /** Lines since this time (ms). */
  readonly since?: number;
  readonly timestamps: boolean;
  readonly limitBytes?: number;
}

/** Whether the container is still running, and when that changes. */
export interface Writer {
  running(): boolean;
  onChange(handler: () => void): () => void;
}

const blockBytes = 64 * 1024;
const lineFeed = 0x0a;
/** Runtimes write lines of at most 16 KiB; longer ones are invalid and skipped. */
const maxLineBytes = 1024 * 1024;

/** Converts raw blocks of a log file to the client's text. Buffers incomplete lines. */
class LineFilter {
  readonly #request: LogRequest;
  #rest: Buffer = Buffer.alloc(0);
  /** True while skipping the rest of a line. */
  #skips = false;
  /** Whether the next text of each stream begins a line, which gets a timestamp. */
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

  /** After the end of a rotated file: continues with its successor. False if there is none. */
  async next(): Promise<boolean> {
    const current = await this.#files.open(this.#path);
    if (current === undefined) return false;
    if (current.identity === this.#file.identity) {
      await current.close();
      // The file was truncated: start over.
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

/** Wakes a waiting reader; remembers a call without a waiter. */
class WakeUp {
  #isPending = false;
  #resolve: (() => void) | undefined;

  wake = (): void => {
    this.#isPending = true;
    this.#resolve?.();
  };

  async wait(): Promise<void> {
    if (!this.#isPending) {
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
    }
    this.#isPending = false;
    this.#resolve = undefined;
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
  let remaining = request.limitBytes ?? Number.POSITIVE_INFINITY;
  try {
    for await (const chunk of lines(followed, options)) {
      yield chunk.length > remaining ? chunk.subarray(0, remaining) : chunk;
      remaining -= chunk.length;
      if (remaining <= 0) return;
    }
  } finally {
    await followed.close();
  }
}

async function* lines(followed: FollowedFile, options: ReadLogOptions): AsyncGenerator<Buffer> {
  const { files, path, request, writer, signal } = options;
  const filter = new LineFilter(request);
  const wakeUp = new WakeUp();
  const endings = request.follow ? [files.watch(path, wakeUp.wake), writer.onChange(wakeUp.wake)] : [];
  signal.addEventListener('abort', wakeUp.wake, { once: true });
  try {
    while (!signal.aborted) {
      // Checked before the last read, so that output before the exit is not missed.
      const running = writer.running();
      let block = await followed.read();
      while (block.length > 0 && !signal.aborted) {
        const texts = filter.push(block);
        if (texts.length > 0) yield Buffer.concat(texts);
        block = await followed.read();
      }
      if (await followed.next()) continue;
      if (!request.follow || !running) return;
      await wakeUp.wait();
    }
  } finally {
    for (const end of endings) end();
    signal.removeEventListener('abort', wakeUp.wake);
  }
}
