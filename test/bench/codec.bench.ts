/**
 * Measures decoding, encoding and managed fields of a 2.5 kB pod, a table of 1,000 pods, and loading the schema of all
 * kinds.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { pods } from '#api/core/v1/resources.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { schemeFor } from '#api/scheme.js';
import { strategyFor } from '#api/strategies.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import { withQuestions } from '#apimachinery/apply/conversions.js';
import { updateManagedFields } from '#apimachinery/apply/managed-fields.js';
import { realClock } from '#apimachinery/clock.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { orchDialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { encodeStored, type StorableObject } from '#storage/layout.js';
import { benchPod } from '#test/bench/pod.js';
import { figure, machineLine, megabytes } from '#test/bench/report.js';
import { root, run } from '#test/e2e/harness.js';
import { call, runServer } from '#test/integration/apiserver/server.js';

const rounds = 1000;
const tableRows = 1000;

const scheme = schemeFor(orchDialect);
const codec = new ObjectCodec(scheme);
const kind = scheme.kind('v1', 'Pod');
if (kind === undefined) throw new Error('no pods');
const strategy = strategyFor(pods);
const context: StrategyContext = {
  dialect: orchDialect,
  scheme,
  now: realClock.now(),
  monotonic: () => 0,
  gate: () => false,
};

/** Time of one warm call in µs: the best of many series, since other programs only add time. */
function microseconds(work: () => unknown): number {
  for (let i = 0; i < 5 * rounds; i++) work();
  let best = Number.POSITIVE_INFINITY;
  for (let series = 0; series < 20; series++) {
    const start = realClock.monotonic();
    for (let i = 0; i < rounds; i++) work();
    best = Math.min(best, ((realClock.monotonic() - start) * 1000) / rounds);
  }
  return best;
}

const us = (value: number): string => `${value.toFixed(1)} µs`;

const json = Buffer.from(JSON.stringify(benchPod('web-0')));
const protobuf = codec.encode(codec.decode(json, { encoding: 'json', expected: kind }).object, kind, 'protobuf');
process.stdout.write(`${machineLine()}\na pod of ${json.length} bytes of JSON, ${protobuf.length} of Protobuf\n`);

const decoded = (): Draft<ApiObjectShape> =>
  codec.decode(json, { encoding: 'json', expected: kind, validation: 'Warn' })
    .object as unknown as Draft<ApiObjectShape>;

function complete(pod: Draft<ApiObjectShape>): void {
  strategy.defaults?.(pod, context);
  strategy.prepareForCreate?.(pod, context);
  const failures = strategy.validateCreate?.(pod, context) ?? [];
  if (failures.length > 0) throw new Error(JSON.stringify(failures));
}

const sent = Array.from({ length: rounds }, decoded);
let next = 0;
const validate = microseconds(() => {
  const pod = sent[next++ % rounds] as Draft<ApiObjectShape>;
  complete(pod);
  return strategy.warnings?.(pod, undefined, context);
});
figure('default, prepare, validate and warn of a pod', us(validate), '60 µs');
const write = microseconds(() => {
  const pod = decoded();
  complete(pod);
  return encodeStored(pod as unknown as StorableObject);
});
figure('JSON: decode, default, validate, encode for the store', us(write), '120 µs');
const { object } = codec.decode(protobuf, { encoding: 'protobuf', expected: kind });
figure(
  'Protobuf: decode',
  us(microseconds(() => codec.decode(protobuf, { encoding: 'protobuf', expected: kind }))),
  '60 µs',
);
figure('Protobuf: encode', us(microseconds(() => codec.encode(object, kind, 'protobuf'))), '60 µs');

managedFields();
await table();
await loading();

/** For a created pod, and for a patch that adds an annotation and shares the rest with the stored pod. */
function managedFields(): void {
  const pod = copyJson(object) as unknown as Draft<ApiObjectShape>;
  strategy.defaults?.(pod, context);
  strategy.prepareForCreate?.(pod, context);
  const type = scheme.type('core.v1.Pod');
  const written = (updated: object, live?: object) =>
    withQuestions(
      updateManagedFields({
        type,
        apiVersion: 'v1',
        manager: 'bench',
        subresource: '',
        now: context.now,
        live: live as JsonObject | undefined,
        updated: updated as JsonObject,
      }),
      {
        pause: () => undefined,
        ask: () => Promise.reject(new RangeError('managers of one version need no conversion')),
      },
    );
  figure('managed fields of a create', us(microseconds(() => written(pod))), '50 µs');
  const { metadata } = pod;
  const stored = { ...pod, metadata: { ...metadata, managedFields: written(pod) } };
  const annotations = { ...metadata.annotations, 'example.com/round': '1' };
  const patched = { ...stored, metadata: { ...stored.metadata, annotations } };
  figure('managed fields of a patch', us(microseconds(() => written(patched, stored))), '25 µs');
}

async function table(): Promise<void> {
  const { server, stop } = await runServer({ dialect: orchDialect, unfrozen: true });
  try {
    const url = '/api/v1/namespaces/default/pods';
    for (let i = 0; i < tableRows; i++) {
      const { status, text } = await call(server, 'POST', url, { body: benchPod(`web-${i}`) });
      if (status !== 201) throw new Error(text);
    }
    const headers = { accept: `application/json;as=Table;v=v1;g=${orchDialect.groupName('meta')}` };
    const request = {
      method: 'GET',
      url,
      headers,
      body: Buffer.alloc(0),
      remoteAddress: '127.0.0.1',
      signal: new AbortController().signal,
    };
    const times: number[] = [];
    for (let i = 0; i < 30; i++) {
      const start = realClock.monotonic();
      const { body, status } = await server.handler(request);
      if (status !== 200 || body === undefined) throw new Error(`table: ${status}`);
      if (!Buffer.isBuffer(body)) for await (const part of body) if (part.length === 0) throw new Error('empty part');
      times.push(realClock.monotonic() - start);
    }
    figure('Table of 1,000 pods: the first', `${(times[0] ?? 0).toFixed(1)} ms`);
    figure('Table of 1,000 pods: the best of 30', `${Math.min(...times).toFixed(1)} ms`, '15 ms');
  } finally {
    await stop();
  }
}

/** CPU time in separate bundled processes, compared with one that loads nothing. */
async function loading(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-'));
  try {
    const file = join(directory, 'schema.mjs');
    const contents = `import { orchDialect } from '#apimachinery/dialect.js';
      import { schemeFor } from '#api/scheme.js';
      import { strategyFor } from '#api/strategies.js';
      const scheme = schemeFor(orchDialect);
      for (const { declaration } of scheme.resources) strategyFor(declaration);
      for (const name of scheme.typeNames()) scheme.type(name).byName;`;
    const stdin = { contents, resolveDir: root };
    await build({ stdin, bundle: true, platform: 'node', format: 'esm', outfile: file });
    const without = await measured('');
    const loaded = await measured(`await import(${JSON.stringify(file)});`);
    figure('schema, every type, and all strategies: CPU time', `${loaded.ms.toFixed(0)} ms`, '150 ms');
    figure('schema, every type, and all strategies: memory', megabytes(loaded.bytes - without.bytes), '40 MB');
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function measured(work: string): Promise<{ ms: number; bytes: number }> {
  const script = `const before = process.cpuUsage(); ${work}
    const { user, system } = process.cpuUsage(before); const ms = (user + system) / 1000; globalThis.gc();
    console.log(JSON.stringify({ ms, bytes: process.memoryUsage().rss }));`;
  const results: { ms: number; bytes: number }[] = [];
  for (let i = 0; i < 5; i++) {
    const args = ['--expose-gc', '--input-type=module', '--eval', script];
    const { code, stdout, stderr } = await run(process.execPath, args, { cwd: root });
    if (code !== 0) throw new Error(stderr);
    results.push(JSON.parse(stdout) as { ms: number; bytes: number });
  }
  return results.reduce((best, result) => (result.ms < best.ms ? result : best));
}
