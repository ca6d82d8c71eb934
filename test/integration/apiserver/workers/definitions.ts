/** Definitions with several servers: once one server reports a definition as established, all others must serve it. */
import type { Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';

/** A request to one server, or to any that accepts the connection. */
export type Ask = (path: string, method?: string, body?: unknown) => Promise<{ status: number; text: string }>;

export interface DefinitionsOptions {
  /** `/apis/apiextensions.k8s.io/v1/customresourcedefinitions`. */
  readonly path: string;
  readonly askers: readonly Ask[];
  readonly rounds: number;
  /** Concurrent requests to each server. */
  readonly each: number;
}

interface Definition {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const versions = ['v1', 'v2'];

function definition(n: number): object {
  const kind = `Thing${n}`;
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } } };
  return {
    metadata: { name: `thing${n}s.group${n}.example.com` },
    spec: {
      group: `group${n}.example.com`,
      scope: 'Cluster',
      names: { plural: `thing${n}s`, kind },
      versions: versions.map((name, i) => ({ name, served: true, storage: i === 0, schema })),
    },
  };
}

/** Creates and removes definitions one after the other. */
export async function definitionsEverywhere(
  t: Test,
  { path, askers, rounds, each }: DefinitionsOptions,
): Promise<void> {
  const [first] = askers;
  if (first === undefined) throw new RangeError('no server');
  const all = (what: (ask: Ask, i: number) => Promise<void>) =>
    Promise.all(askers.flatMap((ask) => Array.from({ length: each }, (_, i) => what(ask, i))));
  for (let n = 0; n < rounds; n++) {
    const name = `thing${n}s.group${n}.example.com`;
    t.equal((await first(path, 'POST', definition(n))).status, 201);
    await until(async () => isEstablished((await first(`${path}/${name}`)).text));
    const objects = versions.map((version) => `/apis/group${n}.example.com/${version}/thing${n}s`);
    await all(async (ask, i) => {
      const list = objects[i % objects.length] ?? '';
      if (i % 4 === 3) t.match((await ask('/apis')).text, `group${n}.example.com`, 'groups have it');
      else if (i % 4 === 2) t.match((await ask(list.slice(0, list.lastIndexOf('/')))).text, `thing${n}s`);
      else t.equal((await ask(list)).status, 200, list);
    });
    await first(objects[0] ?? '', 'POST', {
      apiVersion: `group${n}.example.com/v1`,
      kind: `Thing${n}`,
      metadata: { name: 'a' },
    });
    await all(async (ask, i) => {
      t.equal((await ask(`${objects[i % objects.length]}/a`)).status, 200, 'its objects are seen everywhere');
    });
    t.equal((await first(`${path}/${name}`, 'DELETE')).status, 200);
    await until(async () => (await first(`${path}/${name}`)).status === 404);
    // Another thread or server receives it a moment later, and forgets it then.
    await until(async () => {
      const left: string[] = [];
      await all(async (ask, i) => {
        if ((await ask(objects[i % objects.length] ?? '')).status !== 404) left.push('objects');
        if ((await ask('/apis')).text.includes(`group${n}.example.com`)) left.push('group');
      });
      return left.length === 0;
    });
  }
}

function isEstablished(text: string): boolean {
  const { status } = JSON.parse(text) as Definition;
  return status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True') === true;
}

async function until(what: () => Promise<boolean>): Promise<void> {
  while (!(await what())) await realClock.sleep(5);
}
