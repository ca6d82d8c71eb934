/**
 * Channels inside a WebSocket: the first byte of every message is the channel number. In base64 protocols messages are
 * text, the number is a digit, and the rest is base64.
 */
import { Writable } from 'node:stream';
import type { WebSocket } from 'ws';

/** Buffered output above this amount pauses its source. */
const highWaterBytes = 1024 * 1024;
const digitZero = 0x30;

export interface ChannelsOptions {
  readonly base64: boolean;
  /** Called for each message of a channel. */
  readonly onMessage: (channel: number, payload: Buffer) => void;
  /** Called for messages in both directions. */
  readonly onData: () => void;
}

export class WebSocketChannels {
  readonly socket: WebSocket;
  readonly #options: ChannelsOptions;
  /** Streams with full input buffers. */
  readonly #behind = new Set<Writable>();

  constructor(socket: WebSocket, options: ChannelsOptions) {
    this.socket = socket;
    this.#options = options;
    socket.on('message', (data: Buffer) => this.#message(data));
    // The 'close' event follows.
    socket.on('error', () => undefined);
  }

  /** Sends one message; calls `done` once there is room for the next. */
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

  /** A stream that writes to the channel. Its end is not sent. */
  writer(channel: number): Writable {
    return new Writable({ write: (chunk: Buffer, _encoding, done) => this.send(channel, chunk, done) });
  }

  /** Writes to a stream; pauses the client while the stream's buffer is full. */
  deliver(payload: Buffer, stream: Writable): void {
    // Data for a process that has closed its input is dropped.
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

/** Undefined for invalid base64; such messages are dropped. */
function fromBase64(text: string): Buffer | undefined {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}
