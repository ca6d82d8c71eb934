/**
 * Proxies that speak konnectivity's protocol: one gRPC stream per connection, over a Unix socket
 * (konnectivity-client/proto/client/client.proto of version 0.0.37).
 */
import { Duplex } from 'node:stream';
import { type ClientDuplexStream, credentials, Client as GrpcClient, Metadata, type ServiceError } from '@grpc/grpc-js';
import { hostPort } from '#apimachinery/net/host-port.js';
import type { Connector } from '#apiserver/egress/connector.js';
import { decodePacket, encodePacket, type Packet } from '#apiserver/egress/packet.js';
import type { Dial } from '#http/client/dial.js';

export interface GrpcProxyOptions {
  /** Path of the proxy's socket. */
  readonly socket: string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly setTimer: (fn: () => void, ms: number) => { cancel(): void };
}

type PacketStream = ClientDuplexStream<Packet, Packet>;

/** Data of one packet; the proxy accepts messages up to 4 MiB. */
const maxDataBytes = 64 * 1024;
/** How long a closed connection waits for the proxy's confirmation, as in konnectivity's client. */
const closeMs = 10_000;

/** Every connection has a gRPC connection of its own, as in 1.24. */
export function grpcProxy(options: GrpcProxyOptions): Connector {
  return {
    protocol: 'grpc',
    transport: 'uds',
    async connect(signal) {
      const client = new GrpcClient(`unix:${options.socket}`, credentials.createInsecure(), {
        'grpc.use_local_subchannel_pool': 1,
        'grpc.enable_http_proxy': 0,
        'grpc.initial_reconnect_backoff_ms': 200,
        'grpc.max_reconnect_backoff_ms': 2000,
      });
      await ready(client, signal);
      return tunnelOf(client, options, signal);
    },
  };
}

function ready(client: GrpcClient, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      client.close();
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    client.waitForReady(Number.POSITIVE_INFINITY, (error) => {
      signal.removeEventListener('abort', abort);
      if (error === undefined) resolve();
      else reject(error);
    });
  });
}

/** Dials once. */
function tunnelOf(client: GrpcClient, { random, setTimer }: GrpcProxyOptions, signal: AbortSignal): Dial {
  return ({ host, port }) =>
    new Promise((resolve, reject) => {
      const stream: PacketStream = client.makeBidiStreamRequest(
        '/ProxyService/Proxy',
        encodePacket,
        decodePacket,
        new Metadata(),
      );
      const number = Math.floor(random() * 2 ** 52);
      const stop = () => {
        signal.removeEventListener('abort', abort);
        stream.off('data', answered).off('error', fail).off('end', ended);
      };
      const fail = (error: unknown) => {
        stop();
        // The stream reports its cancellation as an error.
        stream.on('error', () => undefined);
        stream.cancel();
        client.close();
        reject(error);
      };
      const abort = () => fail(signal.reason);
      const ended = () => fail(new Error('tunnel is closed'));
      const answered = (packet: Packet) => {
        if (packet.type === 'DIAL_CLS') fail(new Error('dial closed'));
        if (packet.type !== 'DIAL_RSP' || packet.random !== BigInt(number)) return;
        if (packet.error !== '') {
          fail(new Error(packet.error));
          return;
        }
        stop();
        // Until the owner reads, packets wait in the stream.
        stream.pause();
        resolve(new TunnelSocket({ client, stream, id: packet.connectId, setTimer }));
      };
      stream.on('data', answered).on('error', fail).on('end', ended);
      signal.addEventListener('abort', abort, { once: true });
      stream.write({ type: 'DIAL_REQ', address: hostPort(host, port), random: BigInt(number) });
    });
}

interface TunnelSocketOptions extends Pick<GrpcProxyOptions, 'setTimer'> {
  readonly client: GrpcClient;
  readonly stream: PacketStream;
  readonly id: bigint;
}

/** A connection inside of a tunnel, with back-pressure both ways. */
class TunnelSocket extends Duplex {
  readonly #options: TunnelSocketOptions;
  #isOver = false;

  constructor(options: TunnelSocketOptions) {
    super({ allowHalfOpen: false });
    this.#options = options;
    const { stream } = options;
    stream.on('data', (packet: Packet) => this.#receive(packet));
    stream.on('error', (error: ServiceError) => {
      // The end cancels the stream, which it reports as an error.
      if (this.#isOver) return;
      this.#isOver = true;
      this.destroy(error);
    });
    stream.on('end', () => {
      this.#isOver = true;
      this.push(null);
      this.destroy();
    });
    stream.pause();
  }

  override _read(): void {
    this.#options.stream.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const { id, stream } = this.#options;
    let flowing = true;
    for (let at = 0; at < chunk.length; at += maxDataBytes) {
      flowing = stream.write({ type: 'DATA', connectId: id, data: chunk.subarray(at, at + maxDataBytes) });
    }
    if (flowing) done();
    else stream.once('drain', () => done());
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#requestClose();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const { client, setTimer, stream } = this.#options;
    const end = () => {
      timer.cancel();
      stream.removeAllListeners('data').on('error', () => undefined);
      stream.cancel();
      client.close();
    };
    const timer = setTimer(end, this.#isOver ? 0 : closeMs);
    if (!this.#isOver) {
      this.#requestClose();
      stream.on('end', end).on('error', end).resume();
    }
    done(error);
  }

  #receive(packet: Packet): void {
    const { id, stream } = this.#options;
    if (packet.type === 'DATA' && packet.connectId === id) {
      if (!this.destroyed && !this.push(packet.data)) stream.pause();
    } else if (packet.type === 'CLOSE_RSP' && packet.connectId === id) {
      this.#isOver = true;
      if (!this.destroyed) this.push(null);
      stream.end();
      stream.cancel();
    }
  }

  #closing = false;

  #requestClose(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#options.stream.write({ type: 'CLOSE_REQ', connectId: this.#options.id });
  }
}
