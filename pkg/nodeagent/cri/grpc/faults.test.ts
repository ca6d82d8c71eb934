/** The gRPC client turns each invalid response into one of its own errors, in time, and the next call works. */
import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerHttp2Stream } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { type Fault, type FaultyRuntime, startFaultyRuntime } from '#nodeagent/testing/faulty-runtime.js';

const timeoutMs = 500;
/** A VersionResponse: version 0.1 of runtime `x` 1, API v1. */
const good = Buffer.from('0a03302e311201781a013122027631', 'hex');
const working: Fault = { type: 'answer', with: () => [good] };

async function setUp(t: Test) {
  const dir = await mkdtemp(join(tmpdir(), 'cri-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const socket = join(dir, 'cri.sock');
  const runtime = await startFaultyRuntime(t, { target: '/nonexistent/cri.sock', socket });
  const cri = new GrpcCRI({ endpoint: socket, clock: realClock, timeoutMs });
  t.teardown(() => cri.close());
  return { runtime, cri };
}

const raw = (speak: (stream: ServerHttp2Stream) => void): Fault => ({ type: 'raw', speak });
const headers = { ':status': 200, 'content-type': 'application/grpc' };
/** Builds a frame whose length header may differ from the actual length. */
const frame = (length: number, flags: number, bytes: Buffer) => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, bytes]);
};

/** Retries until a call succeeds; a broken connection is re-established. */
async function works({ runtime, cri }: { runtime: FaultyRuntime; cri: GrpcCRI }): Promise<boolean> {
  runtime.recover();
  runtime.fail(() => working);
  for (let i = 0; i < 50; i++) {
    const response = await cri.version().catch(() => undefined);
    if (response !== undefined) return response.runtimeName === 'x';
    await realClock.sleep(50);
  }
  return false;
}

t.test('every gRPC status code becomes a CRIError', async (t) => {
  const subject = await setUp(t);
  t.ok(await works(subject));
  const names: Record<number, string> = {
    1: 'Cancelled',
    3: 'InvalidArgument',
    4: 'DeadlineExceeded',
    5: 'NotFound',
    6: 'AlreadyExists',
    12: 'Unimplemented',
    14: 'Unavailable',
  };
  for (const code of [...Array(17).keys(), 99, 2 ** 31].slice(1)) {
    subject.runtime.fail(() => ({ type: 'refuse', code, message: 'why not' }));
    await t.rejects(subject.cri.version(), { name: 'CRIError', code: names[code] ?? 'Unknown' }, `${code}`);
  }
  subject.runtime.fail(() => ({ type: 'refuse', code: 2, message: 'image "x": not found' }));
  await t.rejects(subject.cri.version(), { code: 'NotFound' }, 'runtimes say that in words, too');
  t.ok(await works(subject));
});

t.test('an invalid response is an error, and the next call works', async (t) => {
  const subject = await setUp(t);
  const faults: Record<string, Fault> = {
    'no message': { type: 'answer', with: () => [] },
    nonsense: { type: 'answer', with: () => [Buffer.from('\xff\xff\xff nonsense', 'latin1')] },
    'two messages': { type: 'answer', with: () => [good, good] },
    'too large': { type: 'answer', with: () => [Buffer.alloc(17 << 20, 'x')] },
    'shorter than its announced size': raw((stream) => {
      stream.respond(headers);
      stream.end(frame(1000, 0, good));
    }),
    'with an excessive length': raw((stream) => {
      stream.respond(headers);
      stream.end(frame(2 ** 32 - 1, 0, good));
    }),
    'with an unknown compression': raw((stream) => {
      stream.respond({ ...headers, 'grpc-encoding': 'x' });
      stream.end(frame(good.length, 1, good));
    }),
    'without a status': raw((stream) => {
      stream.respond(headers);
      stream.end(frame(good.length, 0, good));
    }),
    'a page': raw((stream) => {
      stream.respond({ ':status': 404, 'content-type': 'text/html' });
      stream.end('<html>');
    }),
    'begun and never ended': raw((stream) => {
      stream.respond(headers);
      stream.write(good.subarray(0, 3));
    }),
    silence: { type: 'hang' },
    'too late': { type: 'delay', ms: timeoutMs * 2 },
    'a connection that ends': { type: 'reset' },
  };
  for (const [what, fault] of Object.entries(faults)) {
    t.ok(await works(subject), `before ${what}`);
    subject.runtime.fail(() => fault);
    const startedMs = realClock.monotonic();
    const error: unknown = await subject.cri.version().catch((reason: unknown) => reason);
    t.match(error, { name: 'CRIError' }, what);
    t.comment(`${what}: ${String(error)} after ${Math.round(realClock.monotonic() - startedMs)} ms`);
  }
  t.ok(await works(subject));
});

t.test('silent connections are closed at the deadline', async (t) => {
  const subject = await setUp(t);
  t.ok(await works(subject));
  subject.runtime.freeze();
  await t.rejects(subject.cri.version(), { name: 'CRIError', code: 'DeadlineExceeded' });
  // The next connection is accepted and stays silent; after its deadline another one is opened.
  subject.runtime.cut();
  await t.rejects(subject.cri.version(), { name: 'CRIError' });
  t.ok(await works(subject));
});
