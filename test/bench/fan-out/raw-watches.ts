/**
 * Many watches over few HTTP/2 connections. The client parses only frame headers, so that it can receive the events of a
 * thousand clients on the server's cores. It parses the events of one watch per connection.
 */
import { once } from 'node:events';
import type { OnReadOpts } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import {
  defaultFrameBytes,
  frame,
  frameFlag,
  frameHeadBytes,
  frameType,
  maxWindow,
  numberFrame,
  preface,
  setting,
  settingsFrame,
} from '#http/http2/frames.js';
import { encodeHeaders } from '#http/http2/hpack.js';
import type { RunningServer } from '#test/bench/access/servers.js';

const host = '127.0.0.1';
const lineFeed = 10;
const nothing = Buffer.alloc(0);
/** The size of a TLS record. */
const readBytes = 16 * 1024;

/** Called for each event of the parsed watches. */
export type OnEvent = (event: Buffer) => void;

export class RawWatches {
  readonly #server: RunningServer;
  readonly #onEvent: OnEvent;
  readonly #connections: RawConnection[] = [];

  constructor(server: RunningServer, onEvent: OnEvent) {
    this.#server = server;
    this.#onEvent = onEvent;
  }

  /** Opens a connection with the given number of watches of the path. Resolves when the server has responded to all. */
  async open(path: string, count: number): Promise<void> {
    const { port, headers } = this.#server.http2.options;
    const head = encodeHeaders([
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', path],
      [':authority', host],
      ...Object.entries(headers),
    ]);
    const connection = new RawConnection(port, this.#onEvent);
    this.#connections.push(connection);
    await connection.open(head, count);
  }

  /** Received bytes of each watch, in order of opening. Throws when a connection or a watch has ended. */
  bytes(): number[] {
    return this.#connections.flatMap((connection) => connection.bytes());
  }

  /** DATA frames of all watches. */
  get frames(): number {
    return this.#connections.reduce((sum, { frames }) => sum + frames, 0);
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}

class RawConnection {
  /** DATA frames received. */
  frames = 0;
  readonly #onEvent: OnEvent;
  readonly #socket: TLSSocket;
  /** By stream number. */
  #received: number[] = [];
  #answered = 0;
  #settled: (() => void) | undefined;
  #failure: Error | undefined;
  /** An incomplete frame header. */
  readonly #head = Buffer.alloc(frameHeadBytes);
  #headLength = 0;
  /** The remaining bytes of the current frame's payload. */
  #left = 0;
  #sampled = false;
  /** An incomplete event. */
  #line: Buffer = nothing;

  constructor(port: number, onEvent: OnEvent) {
    this.#onEvent = onEvent;
    // Reuse one buffer for all reads: allocation and garbage collection would cost more than decryption.
    const buffer = Buffer.allocUnsafeSlow(readBytes);
    const callback = (length: number) => {
      this.#take(buffer.subarray(0, length));
      return true;
    };
    const options: ConnectionOptions & { readonly onread: OnReadOpts } = {
      ...{ host, port, ALPNProtocols: ['h2'], rejectUnauthorized: false },
      onread: { buffer, callback },
    };
    this.#socket = connect(options);
    const fail = (error: Error) => {
      this.#failure ??= error;
    };
    this.#socket.on('error', fail);
    this.#socket.on('close', () => fail(new Error('a connection has ended')));
  }

  async open(head: Buffer, count: number): Promise<void> {
    const socket = this.#socket;
    await once(socket, 'secureConnect');
    socket.write(preface);
    socket.write(settingsFrame([[setting.INITIAL_WINDOW_SIZE, maxWindow]]));
    socket.write(numberFrame(frameType.WINDOW_UPDATE, 0, maxWindow - defaultFrameBytes * 4));
    this.#received = new Array<number>(2 * count).fill(0);
    await new Promise<void>((resolve) => {
      this.#settled = resolve;
      for (let n = 0; n < count; n++) {
        socket.write(frame(frameType.HEADERS, frameFlag.END_HEADERS | frameFlag.END_STREAM, 2 * n + 1, head));
      }
    });
    this.bytes();
  }

  bytes(): number[] {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#received.filter((_, streamId) => streamId % 2 === 1);
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#left > 0) {
        const end = Math.min(chunk.length, at + this.#left);
        if (this.#sampled) this.#read(chunk.subarray(at, end));
        this.#left -= end - at;
        at = end;
        continue;
      }
      if (this.#headLength === 0 && chunk.length - at >= frameHeadBytes) {
        this.#begin(chunk, at);
        at += frameHeadBytes;
        continue;
      }
      const copied = chunk.copy(this.#head, this.#headLength, at);
      at += copied;
      this.#headLength += copied;
      if (this.#headLength < frameHeadBytes) continue;
      this.#headLength = 0;
      this.#begin(this.#head, 0);
    }
  }

  #begin(head: Buffer, at: number): void {
    const length = head.readUIntBE(at, 3);
    const type = head[at + 3] as number;
    const flags = head[at + 4] as number;
    const streamId = head.readUInt32BE(at + 5);
    this.#left = length;
    this.#sampled = type === frameType.DATA && streamId === 1;
    if (type === frameType.DATA) {
      this.frames++;
      this.#received[streamId] = (this.#received[streamId] ?? 0) + length;
    } else if (type === frameType.HEADERS) {
      this.#answered += 2;
      if (this.#answered === this.#received.length) this.#settled?.();
    } else if (type === frameType.SETTINGS && flags === 0) {
      this.#socket.write(frame(frameType.SETTINGS, frameFlag.ACK, 0, nothing));
    } else if (type === frameType.RST_STREAM || type === frameType.GOAWAY) {
      this.#failure ??= new Error('the server has ended a watch');
    }
    const ends = type === frameType.DATA || type === frameType.HEADERS ? flags & frameFlag.END_STREAM : 0;
    if (ends !== 0) this.#failure ??= new Error('a watch has ended');
  }

  #read(part: Buffer): void {
    let from = 0;
    for (let end = part.indexOf(lineFeed); end >= 0; end = part.indexOf(lineFeed, from)) {
      const rest = part.subarray(from, end);
      this.#onEvent(this.#line.length === 0 ? rest : Buffer.concat([this.#line, rest]));
      this.#line = nothing;
      from = end + 1;
    }
    // The next read overwrites the buffer of `part`.
    if (from < part.length) this.#line = Buffer.concat([this.#line, part.subarray(from)]);
  }
}
