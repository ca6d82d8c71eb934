/**
 * Exec and attach over WebSocket, protocols `v4.channel.k8s.io` and `v5.channel.k8s.io`: every message begins with a
 * byte that names its channel: 0 standard input, 1 output, 2 error output, 3 the final Status, 4 the terminal's size.
 * In v5 the message `[255, n]` ends channel n.
 */
import { PassThrough, Writable } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Status } from '#apimachinery/errors/status.js';
import type { SessionStreams, TerminalSize } from '#nodeagent/cri/cri.js';

const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
/** Output that waits for a slow client before the process is made to wait. */
const highWaterBytes = 1024 * 1024;

export interface WantedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The streams in a request's query, by the node agent's names or the API's. */
export function wantedStreams(query: URLSearchParams): WantedStreams {
  const has = (...names: string[]) => names.some((name) => ['1', 'true'].includes(query.get(name) ?? ''));
  const tty = has('tty');
  return {
    stdin: has('input', 'stdin'),
    stdout: has('output', 'stdout'),
    // A terminal has one output.
    stderr: has('error', 'stderr') && !tty,
    tty,
  };
}

/** How a session ended, as the error channel tells it. */
export function exitStatus(exitCode: number): Status {
  if (exitCode === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    reason: 'NonZeroExitCode' as NonNullable<Status['reason']>,
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}

export function failureStatus(error: unknown): Status {
  const message = error instanceof Error ? error.message : String(error);
  return { metadata: {}, status: 'Failure', message, reason: 'InternalError', code: 500 };
}

class ChannelWriter extends Writable {
  readonly #socket: WebSocket;
  readonly #prefix: Buffer;

  constructor(socket: WebSocket, number: number) {
    super();
    this.#socket = socket;
    this.#prefix = Buffer.from([number]);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#socket.readyState !== this.#socket.OPEN) {
      done();
      return;
    }
    const message = Buffer.concat([this.#prefix, chunk]);
    if (this.#socket.bufferedAmount < highWaterBytes) {
      this.#socket.send(message);
      done();
    } else this.#socket.send(message, () => done());
  }
}

function parseSize(bytes: Buffer): TerminalSize | undefined {
  try {
    const { Width: width, Height: height } = JSON.parse(bytes.toString()) as { Width?: unknown; Height?: unknown };
    return typeof width === 'number' && typeof height === 'number' ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

export interface RemoteCommandOptions {
  readonly socket: WebSocket;
  readonly wanted: WantedStreams;
  readonly signal: AbortSignal;
  /** Runs the session; resolves with the exit code. */
  readonly run: (streams: SessionStreams) => Promise<number>;
}

/** Serves one session to its end. Never rejects: what goes wrong is told on the error channel. */
export async function serveRemoteCommand(options: RemoteCommandOptions): Promise<void> {
  const { socket, wanted } = options;
  const gone = new AbortController();
  const stdin = wanted.stdin ? new PassThrough({ highWaterMark: highWaterBytes }) : undefined;
  let resize: ((size: TerminalSize) => void) | undefined;
  let lastSize: TerminalSize | undefined;

  socket.on('message', (data: Buffer) => {
    const [number, second] = data;
    const payload = data.subarray(1);
    if (number === channel.stdin && stdin !== undefined && payload.length > 0) {
      if (stdin.writableEnded || stdin.write(payload)) return;
      socket.pause();
      stdin.once('drain', () => socket.resume());
    } else if (number === channel.close && second === channel.stdin) stdin?.end();
    else if (number === channel.resize) {
      lastSize = parseSize(payload) ?? lastSize;
      if (lastSize !== undefined) resize?.(lastSize);
    }
  });
  socket.on('close', () => {
    stdin?.end();
    gone.abort();
  });
  socket.on('error', () => gone.abort());

  const streams: SessionStreams = {
    tty: wanted.tty,
    signal: AbortSignal.any([gone.signal, options.signal]),
    ...(stdin === undefined ? {} : { stdin }),
    ...(wanted.stdout ? { stdout: new ChannelWriter(socket, channel.stdout) } : {}),
    ...(wanted.stderr ? { stderr: new ChannelWriter(socket, channel.stderr) } : {}),
    onResizable: (change) => {
      resize = change;
      if (lastSize !== undefined) change(lastSize);
    },
  };
  // An empty message on the lowest channel tells the client that the session is open.
  socket.send(Buffer.from([wanted.stdout ? channel.stdout : wanted.stderr ? channel.stderr : channel.error]));
  let status: Status;
  try {
    status = exitStatus(await options.run(streams));
  } catch (error) {
    status = failureStatus(error);
  }
  stdin?.destroy();
  if (socket.readyState !== socket.OPEN) return;
  socket.send(Buffer.concat([Buffer.from([channel.error]), Buffer.from(JSON.stringify(status))]), () =>
    socket.close(1000),
  );
}
