/** A hostile webhook in a thread of its own, so that its work does not slow its clients. */
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type {
  HostileMode,
  HostileQuestion,
  HostileReport,
  HostileSetup,
} from '#test/integration/apiserver/webhooks/hostile-server.js';

const { cert, key } = workerData as HostileSetup;
let mode: HostileMode = 'good';
const sockets = new Set<Socket>();
let mostSockets = 0;
let calls = 0;
let sentBytes = 0;

const chunk = Buffer.alloc(64 * 1024, ' ');
const deep = Buffer.from('['.repeat(2_000_000));

function good(review: Review): object {
  const { apiVersion, kind, request } = review;
  const { uid, desiredAPIVersion, objects } = request;
  const convertedObjects = objects?.map((object) => ({ ...object, apiVersion: desiredAPIVersion }));
  const response =
    objects === undefined ? { uid, allowed: true } : { uid, result: { status: 'Success' }, convertedObjects };
  return { apiVersion, kind, response };
}

/** Requests that are not reviews go to an extension server. */
function reviewed(text: string): object {
  return text === '' ? { kind: 'ThingList' } : good(JSON.parse(text) as Review);
}

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion?: string;
    readonly objects?: readonly object[];
  };
}

/** Sends endlessly as long as the client reads. */
function endless(response: ServerResponse): void {
  const more = () => {
    while (!response.destroyed) {
      sentBytes += chunk.length;
      if (!response.write(chunk)) {
        response.once('drain', more);
        return;
      }
    }
  };
  more();
}

function trickle(response: ServerResponse): void {
  const timer = setInterval(() => response.write(' '), 20);
  response.once('close', () => clearInterval(timer));
}

function answer(text: string, response: ServerResponse): void {
  const json = (value: unknown) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  switch (mode) {
    case 'good':
      return void json(reviewed(text));
    case 'hanging':
      return;
    case 'slow':
      setTimeout(() => json(reviewed(text)), 300);
      return;
    case 'trickling':
      return trickle(response);
    case 'lying':
      return void json({ ...reviewed(text), response: { uid: 'other', allowed: true } });
    case 'crashing':
      return void response.destroy();
    case 'huge':
      return endless(response);
    case 'deep':
      return void response.writeHead(200).end(deep);
  }
}

function count(socket: Socket): void {
  sockets.add(socket);
  mostSockets = Math.max(mostSockets, sockets.size);
  socket.on('error', () => undefined);
  socket.on('close', () => sockets.delete(socket));
}

const server = createServer({ cert, key }, (request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    // As the availability check expects.
    if (request.url === '/apis/served.example.com/v1') return void response.writeHead(200).end('{}');
    calls += 1;
    answer(Buffer.concat(parts).toString(), response);
  });
  response.on('error', () => undefined);
});
server.on('connection', count);
server.on('tlsClientError', () => undefined);
/** Accepts connections and reads, to notice their ends, but stays silent. */
const silent = createTcpServer((socket) => {
  count(socket);
  socket.resume();
});

/** A report, or a confirmation. */
function answerTo(question: HostileQuestion): HostileReport | undefined {
  if (question === 'report') {
    const report: HostileReport = { open: sockets.size, mostOpen: mostSockets, calls: calls, sentBytes };
    mostSockets = sockets.size;
    return report;
  }
  if (question === 'cut') for (const socket of sockets) socket.destroy();
  else mode = question;
  return undefined;
}

parentPort?.on('message', (question: HostileQuestion) => parentPort?.postMessage(answerTo(question)));

server.listen(0, '127.0.0.1', () => {
  silent.listen(0, '127.0.0.1', () => {
    const ports = [server, silent].map((each) => (each.address() as AddressInfo).port);
    parentPort?.postMessage({ port: ports[0], silentPort: ports[1] });
  });
});
