/**
 * Channels inside a WebSocket: the first byte of every message is a channel's number. In the base64 protocols messages
 * are text, the number is a digit, and what follows is base64.
 */
import { Writable } from 'node:stream';
import type { WebSocket } from 'ws';

/** Output that waits for a slow client before its source is made to wait. */
const highWaterBytes = 1024 * 1024;
const digitZero = 0x30;

export interface ChannelsOptions {
  readonly base64: boolean;
  /** A message came for a channel. */
  readonly onMessage: (channel: number, payload: Buffer) => void;
  /** Called for messages of either way. */
  readonly onData: () => void;
}

export class WebSocketChannels {
  readonly socket: WebSocket;
  readonly #options: ChannelsOptions;
  /** What is behind with its input. */
  readonly #behind = new Set<Writable>();

  constructor(socket: WebSocket, options: ChannelsOptions) {
    this.socket = socket;
    this.#options = options;
    socket.on('message', (data: Buffer) => this.#message(data));
    // Its end is seen as 'close'.
    socket.on('error', () => undefined);
  }

  /** Sends one message; `done` is called when there is room for the next. */
  send(channel: number, payload: Buffer, done: () => void = () => undefined): void {
    const { socket } = this;
    if (socket.readyState !== socket.OPEN) return done();
    this.#options.onData();
    const message = this.#options.base64
      ? String.fromCharCode(digitZero + channel) + payload.toString('base64')
      : Buffer.concat([Buffer.from([channel]), payload]);
    if (socket.bufferedAmount < highWaterBytes) {
      socket.send(message);
      done();
    } else socket.send(message, done);
  }

  /** What is written to it goes out on the channel. Its end is not told. */
  writer(channel: number): Writable {
    return new Writable({ write: (chunk: Buffer, _encoding, done) => this.send(channel, chunk, done) });
  }

  /** Writes to a stream; while that has no room, nothing more is read from the client. */
  deliver(payload: Buffer, stream: Writable): void {
    // A process that has closed its input takes no more of it: what comes is dropped.
    if (payload.length === 0 || !stream.writable || stream.write(payload) || this.#behind.has(stream)) return;
    this.#behind.add(stream);
    this.socket.pause();
    const resume = () => {
      stream.off('drain', resume);
      stream.off('close', resume);
      if (this.#behind.delete(stream) && this.#behind.size === 0) this.socket.resume();
    };
    stream.once('drain', resume);
    stream.once('close', resume);
  }

  #message(data: Buffer): void {
    const [first] = data;
    if (first === undefined) return;
    this.#options.onData();
    if (!this.#options.base64) this.#options.onMessage(first, data.subarray(1));
    else {
      const payload = fromBase64(data.toString('latin1', 1));
      if (payload !== undefined) this.#options.onMessage(first - digitZero, payload);
    }
  }
}

/** Undefined for text that is no base64; such messages are dropped. */
function fromBase64(text: string): Buffer | undefined {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}
