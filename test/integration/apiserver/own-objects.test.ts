/**
 * Code that may change an object gets a copy: it may write into every part, at the first and at the tenth repetition, without
 * changing what other requests see. Code that only reads objects leaves them unchanged.
 */
import { existsSync } from 'node:fs';
import t, { type Test } from 'tap';
import { strategyFor } from '#api/strategies.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd } from '#test/etcd.js';
import { realParts } from '#test/integration/apiserver/real-plugins.js';
import { customCase, defineCustom } from '#test/integration/apiserver/resources/custom.js';
import { enlarged } from '#test/integration/apiserver/resources/enlarged.js';
import { everyCase, gateFor } from '#test/integration/apiserver/resources/every-case.js';
import { Repetition, sameJSON } from '#test/integration/apiserver/resources/repetition.js';
import type { AnyCase } from '#test/integration/apiserver/resources/resource-case.js';
import { Witness } from '#test/integration/apiserver/resources/witness.js';
import { Scribblers } from '#test/integration/apiserver/scribblers.js';
import { call, type StartOptions, startServer } from '#test/integration/apiserver/server.js';

/**
 * Bytes added to a small object, and its lives in each encoding; in each life the same request repeats five times or more.
 */
interface Lives {
  readonly bytes: number;
  readonly lives: number;
  /** The resources to test; absent: all. */
  readonly of?: ReadonlySet<string>;
}

interface Variant {
  readonly name: string;
  readonly scribblers: Scribblers;
  readonly start: StartOptions;
  readonly sizes: readonly Lives[];
}

t.setTimeout(300_000);

const gate = gateFor(everyCase);
const cases = [...everyCase, customCase];
/** Kinds of which no second object with the same contents can exist. */
const unique = new Set(['apiservices', 'customresourcedefinitions', 'certificatesigningrequests']);

/** One resource for each way in which a large object is written. */
const large = new Set(['pods', 'services', 'secrets', 'deployments', 'rows']);

async function everyKind(t: Test, { scribblers, start, sizes }: Variant): Promise<void> {
  const started = await startServer(t, start);
  const server = { handler: scribblers.handler(started.handler) };
  await prepared(server);
  for (const given of cases) {
    const { resource, version } = given.resource;
    await t.test(`${resource} ${version}`, { timeout: 120_000 }, async (t) => {
      for (const { of, ...rest } of sizes) {
        if (of === undefined || of.has(resource)) await live(t, server, { given, ...rest, scribblers });
      }
    });
  }
}

/** Creates prerequisites: a namespace, its account, and a custom kind. */
async function prepared(server: Pick<ApiServer, 'handler'>): Promise<void> {
  await call(server, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } });
  const account = { metadata: { name: 'default' }, automountServiceAccountToken: false };
  await call(server, 'POST', '/api/v1/namespaces/default/serviceaccounts', { body: account });
  await defineCustom(server, dialect);
}

interface Living extends Omit<Lives, 'of'> {
  readonly given: AnyCase;
  readonly scribblers: Scribblers;
}

async function live(
  t: Test,
  server: Pick<ApiServer, 'handler'>,
  { given, bytes, lives, scribblers }: Living,
): Promise<void> {
  const repetition = new Repetition(t, { server, dialect, given, bytes });
  const { resource } = given.resource;
  const draft = enlarged(given.object(dialect), resource, bytes);
  const witness = await Witness.create(server, repetition.collection, draft, `${bytes}`);
  if (!unique.has(resource)) t.ok(witness, 'a second object is possible');
  const seen = await witness?.seen();
  for (const media of repetition.medias) {
    let first: string | undefined;
    for (let life = 0; life < lives; life++) {
      await repetition.rehearse(media);
      // Values picked by the server differ each time.
      const lived = (await repetition.life(media, () => repetition.rehearse(media)))
        .replaceAll(/10\.0\.0\.\d+/g, 'address')
        .replaceAll(/"(nodePort|healthCheckNodePort)":\d+/g, '"$1":0');
      first ??= lived;
      sameJSON(t, lived, first, `life ${life}`);
    }
  }
  t.strictSame(await witness?.seen(), seen, 'other objects are unchanged');
  await witness?.remove();
  t.strictSame(scribblers.take(), [], `${bytes} bytes`);
}

function variants(): Variant[] {
  const variant = (name: string, make: (scribblers: Scribblers) => StartOptions, sizes: readonly Lives[]): Variant => {
    const scribblers = new Scribblers();
    return { name, scribblers, start: make(scribblers), sizes };
  };
  const all = (scribblers: Scribblers): StartOptions => ({
    dependencies: { gate, strategyFor: (resource) => scribblers.strategy(strategyFor(resource)) },
    async dependenciesOf(parts) {
      const { plugins, hooks } = await realParts(parts);
      return {
        admission: [...plugins.map((plugin) => scribblers.plugin(plugin)), scribblers.spoilingPlugin],
        hooks: hooks.map((hook) => scribblers.hook(hook)),
      };
    },
  });
  const hook = (scribblers: Scribblers): StartOptions => ({
    dependencies: { gate, hooks: [scribblers.spoilingHook] },
  });
  const one = (bytes: number): Lives => ({ bytes, lives: 1 });
  return [
    variant('strategies, plugins and hooks, frozen caches', all, [one(600), one(6_000), { ...one(60_000), of: large }]),
    variant(
      'strategies, plugins and hooks, unfrozen caches',
      (scribblers) => ({ ...all(scribblers), decode: scribblers.decoder() }),
      [one(1_500)],
    ),
    variant('a hook of every kind, frozen caches', hook, [one(1_500)]),
    variant(
      'a hook of every kind, unfrozen caches',
      (scribblers) => ({ ...hook(scribblers), decode: scribblers.decoder() }),
      [one(1_500)],
    ),
  ];
}

t.test(
  'plugins, hooks and strategies may write only into their own copies',
  { timeout: 600_000, skip: existsSync('/usr/bin/etcd') ? false : 'no etcd on this machine' },
  async (t) => {
    for (const variant of variants()) {
      await t.test(variant.name, { timeout: 600_000 }, async (t) => {
        const etcd = await startEtcd();
        t.teardown(() => etcd.stop());
        const store = new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });
        t.teardown(() => store.close());
        await everyKind(t, { ...variant, start: { ...variant.start, store } });
      });
    }
  },
);
