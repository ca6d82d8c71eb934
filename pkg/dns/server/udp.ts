/** Questions over UDP. */
import { createSocket, type Socket } from 'node:dgram';

/** Answers by calling `respond`, once or never, at once or later. */
export type Responder = (message: Buffer, source: string, respond: (answer: Buffer) => void) => void;

export interface ListenerOptions {
  readonly address: string;
  /** 0: any free one. */
  readonly port: number;
  readonly responder: Responder;
  /** The listener has ended by itself. */
  readonly onError: (error: Error) => void;
}

/** Room for what arrives while the process is busy. */
const receiveBytes = 1024 * 1024;

export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

/** Rejects when the address cannot be had. */
export async function listenUdp({ address, port, responder, onError }: ListenerOptions): Promise<Listener> {
  const isIPv6 = address.includes(':');
  const socket = createSocket({
    type: isIPv6 ? 'udp6' : 'udp4',
    ipv6Only: isIPv6,
    // Only addresses are sent to: the way around the resolver is a third of the time of an answer.
    lookup: (host, _options, callback) => callback(null, host, isIPv6 ? 6 : 4),
  });
  await bound(socket, address, port);
  socket.on('error', onError);
  socket.on('message', (message, from) => {
    responder(message, from.address, (answer) => {
      // A client that is gone, or a full buffer: it asks again.
      socket.send(answer, from.port, from.address, ignore);
    });
  });
  let isClosed = false;
  return {
    port: socket.address().port,
    close: () =>
      new Promise((resolve) => {
        if (isClosed) return resolve();
        isClosed = true;
        socket.close(() => resolve());
      }),
  };
}

function ignore(): void {}

function bound(socket: Socket, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      socket.close();
      reject(error);
    };
    socket.once('error', fail);
    socket.bind({ address, port, exclusive: true }, () => {
      socket.removeListener('error', fail);
      try {
        socket.setRecvBufferSize(receiveBytes);
      } catch {
        // The system's own size does, too.
      }
      resolve();
    });
  });
}
