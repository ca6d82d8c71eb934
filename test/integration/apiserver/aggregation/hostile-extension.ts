/** An extension API server that passes discovery checks and misbehaves otherwise. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createGzip } from 'node:zlib';

type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

const text = { 'content-type': 'text/plain' };
const page = { 'content-type': 'text/html', 'content-encoding': 'gzip' };

function often(response: ServerResponse, write: () => void): void {
  const timer = setInterval(write, 10);
  response.once('close', () => clearInterval(timer));
}

/** Sends raw bytes instead of a response of Node.js. */
function raw(start: string, more?: string): Behaviour {
  return ({ socket }, response) => {
    socket.write(start);
    if (more !== undefined) often(response, () => socket.write(more));
  };
}

/** Each behaviour with the error that clients get; the client's timeout ends the ones that never end. */
export const behaviours: Readonly<
  Record<string, readonly [behave: Behaviour, status: number | 'broken', text?: RegExp]>
> = {
  hanging: [() => undefined, 504],
  slow: [(_, response) => void setTimeout(() => response.writeHead(200, text).end('late'), 200), 200, /late/],
  crashing: [({ socket }) => void socket.destroy(), 503, /^error trying to reach service: /],
  'trickling-head': [raw('HTTP/1.1 200 OK\r\n', 'x: y\r\n'), 504],
  'endless-head': [raw('HTTP/1.1 200 OK\r\n', `x: ${'y'.repeat(8192)}\r\n`), 503, /^error trying to reach service: /],
  'endless-hints': [raw('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'), 504],
  'no-http': [raw('SSH-2.0-OpenSSH_9.2\r\n'), 503, /^error trying to reach service: /],
  'unasked-upgrade': [
    raw('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: any\r\n\r\n'),
    503,
    /^error trying to reach service: backend tried to switch protocol "any"/,
  ],
  'two-lengths': [
    raw('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'),
    503,
    /^error trying to reach service: /,
  ],
  'bad-chunks': [raw('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'), 'broken'],
  'half-an-answer': [
    ({ socket }, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{', () => socket.destroy());
    },
    'broken',
  ],
  leading: [
    (_, response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    502,
    /not permitted/,
  ],
  'no-gzip': [(_, response) => void response.writeHead(200, page).end('<a href="/x">'), 'broken'],
  'a-bomb': [
    (_, response) => {
      response.writeHead(200, page);
      const packed = createGzip();
      packed.pipe(response);
      // A compressed page: a kilobyte for each megabyte.
      packed.write(Buffer.alloc(1024 * 1024, ' '));
      packed.end();
    },
    200,
  ],
};
