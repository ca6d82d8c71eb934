/** Floods of a server by one client: each keeps on until it is stopped, and counts what it was answered. */
import { constants } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import {
  authorization,
  type Flood,
  from,
  headOf,
  host,
  Keeper,
  outcomeOf,
  pauseMs,
  request,
  streams,
  tls,
} from '#test/integration/apiserver/floods/client.js';

/** A request that every authenticated user may send. */
const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
/** A user without rights gets 403. */
const refused = '/api/v1/namespaces/default/configmaps';

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
