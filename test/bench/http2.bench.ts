/**
 * Client CPU of a gRPC-like call to etcd, compared with node:http2. The server is another process. This is the reason
 * for our own HTTP/2 client.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectHttp2, createServer } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { deferred } from '#apimachinery/async/deferred.js';
import { Http2Session } from '#http/http2/client-session.js';
import { encodeHeaders, type HeaderField } from '#http/http2/hpack.js';
import { figure, machineLine } from '#test/bench/report.js';

const calls = 20_000;
const concurrency = 16;
const warmUp = 3000;
const rounds = 3;
const request = Buffer.alloc(2300, 'r');
const answer = Buffer.alloc(60, 'a');
const head: readonly HeaderField[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/etcdserverpb.KV/Txn'],
  [':authority', 'localhost'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
];

type Call = () => Promise<void>;

async function serve(): Promise<void> {
  const server = createServer();
  server.on('stream', (stream) => {
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'grpc-message': '' }));
    stream.resume().on('end', () => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.end(answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.((server.address() as AddressInfo).port);
}

async function ours(port: number): Promise<{ call: Call; close: () => void }> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  const ready = deferred<void>();
  const session = new Http2Session({
    socket,
    streamWindowBytes: 2 ** 20,
    sessionWindowBytes: 2 ** 24,
    handler: { ready: ready.resolve, draining() {}, closed() {} },
  });
  await ready.promise;
  const bytes = encodeHeaders(head);
  const call = () =>
    new Promise<void>((resolve, reject) => {
      const stream = session.open(bytes, request, true, {
        headers() {},
        data: (chunk) => stream.took(chunk.length),
        ended: (failure) => (failure === undefined ? resolve() : reject(new Error('a call failed'))),
      });
    });
  return { call, close: () => session.destroy(undefined) };
}

async function nodes(port: number): Promise<{ call: Call; close: () => void }> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  await once(session, 'connect');
  const fields = Object.fromEntries(head);
  const call = () =>
    new Promise<void>((resolve, reject) => {
      const stream = session.request(fields);
      stream.on('error', reject);
      stream.on('data', () => undefined);
      stream.on('trailers', () => undefined);
      stream.on('close', resolve);
      stream.end(request);
    });
  return { call, close: () => session.destroy() };
}

/** CPU per call; µs. */
async function costOf(call: Call, times: number): Promise<number> {
  let left = times;
  const before = process.cpuUsage();
  const worker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

async function measure(): Promise<void> {
  process.stdout.write(`${machineLine()}\n`);
  const server = fork(fileURLToPath(import.meta.url), ['server']);
  const [port] = (await once(server, 'message')) as [number];
  const best: number[] = [];
  for (const make of [ours, nodes]) {
    const { call, close } = await make(port);
    await costOf(call, warmUp);
    const costs: number[] = [];
    for (let i = 0; i < rounds; i++) costs.push(await costOf(call, calls));
    best.push(Math.min(...costs));
    close();
  }
  server.kill();
  const [own = 0, bare = 0] = best;
  figure('call over HTTP/2, client of etcd: CPU', `${own.toFixed(1)} µs`);
  figure('call over HTTP/2, node:http2: CPU', `${bare.toFixed(1)} µs`);
  figure('client of etcd, in calls of node:http2', `${(own / bare).toFixed(2)} ×`, '0.5 ×');
}

await (process.argv[2] === 'server' ? serve() : measure());
