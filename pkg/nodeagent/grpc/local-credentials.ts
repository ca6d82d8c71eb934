/** Unencrypted connections to unix sockets that can all be ended, those without an HTTP/2 handshake included. */
import type { Socket } from 'node:net';
import { CallCredentials, ChannelCredentials, type experimental } from '@grpc/grpc-js';

/**
 * grpc-js forgets a connection whose peer accepted it and stays silent: nothing would ever end it. Its credentials see
 * every connection first.
 */
export class LocalCredentials extends ChannelCredentials {
  readonly #sockets = new Set<Socket>();
  #isClosed = false;

  override _isSecure(): boolean {
    return false;
  }

  override _equals(other: ChannelCredentials): boolean {
    return other === this;
  }

  override _createSecureConnector(): experimental.SecureConnector {
    const callCredentials = CallCredentials.createEmpty();
    return {
      connect: (socket) => {
        if (this.#isClosed) return Promise.reject(new Error('the channel is closed'));
        this.#sockets.add(socket);
        socket.once('close', () => this.#sockets.delete(socket));
        return Promise.resolve({ socket, secure: false });
      },
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => callCredentials,
      destroy: () => undefined,
    };
  }

  /** Ends all connections and refuses others: an attempt may be under way. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#sockets) socket.destroy();
  }
}
