/** Node.js's agents, with connections that are opened in another way than directly. */
import { type AgentOptions, type ClientRequestArgs, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { Dial } from '#http/client/dial.js';

type Done = (error: Error | null, stream: Duplex) => void;

/** For plain HTTP. */
export class DialedHttpAgent extends HttpAgent {
  readonly #dial: Dial;

  constructor(dial: Dial, options: AgentOptions = {}) {
    super(options);
    this.#dial = dial;
  }

  override createConnection(options: ClientRequestArgs, done?: Done): undefined {
    open(this.#dial, options, done, (stream) => done?.(null, stream));
  }
}

/** For HTTP with TLS, which ends at the target. */
export class DialedHttpsAgent extends HttpsAgent {
  readonly #dial: Dial;

  constructor(dial: Dial, options: AgentOptions = {}) {
    super(options);
    this.#dial = dial;
  }

  override createConnection(options: ClientRequestArgs, done?: Done): undefined {
    open(this.#dial, options, done, (socket) => {
      // The request handles errors of the handshake.
      const { path: _, ...rest } = options as ConnectionOptions;
      done?.(null, connectTls({ ...rest, socket }));
    });
  }
}

function open(
  dial: Dial,
  { host, port }: ClientRequestArgs,
  done: Done | undefined,
  opened: (stream: Duplex) => void,
): void {
  dial({ host: (host ?? '').replace(/^\[|\]$/g, ''), port: Number(port) }).then(
    opened,
    // Node.js's callback accepts an error, its type does not.
    (error: unknown) => (done as ((error: unknown) => void) | undefined)?.(error),
  );
}
