/** Applies a bundle of manifests twice to a new server, as its users do. */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { isJsonObject } from '#apimachinery/codec/json/walk.js';
import { type RunResult, run } from '#test/e2e/harness.js';
import { type Command, startApiServer } from '#test/integration/peers/implementations.js';
import { manifestTexts, objectsIn, unknownKinds } from '#test/outsiders/bundles/manifests.js';
import { nameOf } from '#test/outsiders/bundles/objects.js';
import { Cleanup } from '#test/outsiders/cleanup.js';

export type Mode = 'client-side' | 'server-side';

export interface Applied {
  /** Why it could not be applied completely. */
  readonly problem: string | undefined;
  /** Objects changed by the second time, with the message of client or server. */
  readonly changedAgain: ReadonlyMap<string, string>;
  /** The server's objects afterwards, by `nameOf`. */
  readonly objects: ReadonlyMap<string, unknown>;
}

/** Retries for objects that depend on definitions in other parts of the bundle. */
const attempts = 5;
const kubectlMs = 300_000;
/** Server warnings, and kubectl's log lines. */
const noise = /^(Warning:|[EWI]\d{4} )/;
const missingNamespace = /namespaces "([^"]+)" not found/g;

/** Applies the bundle to a new server, which is removed with its files afterwards. */
export async function applyBundle(server: Command, kubectl: string, path: string, mode: Mode): Promise<Applied> {
  const cleanup = new Cleanup();
  try {
    const { adminConfig, folder } = await startApiServer(cleanup, server);
    const cache = join(folder, 'cache');
    await mkdir(cache);
    cleanup.teardown(() => rm(cache, { recursive: true, force: true }));
    const ask = (...args: string[]) =>
      run(kubectl, [`--cache-dir=${cache}`, ...args], { env: { KUBECONFIG: adminConfig }, timeoutMs: kubectlMs });
    const files = ['-R', '-f', path];
    const apply = () => ask('apply', ...(mode === 'server-side' ? ['--server-side'] : []), ...files);
    const problem = await applyOnce(ask, apply);
    await ask('wait', '--for=condition=Established', 'customresourcedefinitions', '--all', '--timeout=60s');
    const scratch = join(folder, 'known.json');
    cleanup.teardown(() => rm(scratch, { force: true }));
    const before = await objectsOf(ask, path, scratch);
    // Managers' times have seconds, so a change within the same second would be invisible.
    await realClock.sleep(1000);
    const again = await apply();
    const after = await objectsOf(ask, path, scratch);
    const changedAgain = mode === 'server-side' ? changedBetween(before, after) : notUnchanged(again);
    return { problem, changedAgain, objects: after };
  } finally {
    await cleanup.end();
  }
}

type Ask = (...args: string[]) => Promise<RunResult>;

async function applyOnce(ask: Ask, apply: () => Promise<RunResult>): Promise<string | undefined> {
  let problem: string | undefined;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { code, stderr } = await apply();
    if (code === 0) return undefined;
    const same = problem === errorsOf(stderr);
    problem = errorsOf(stderr);
    const namespaces = new Set([...stderr.matchAll(missingNamespace)].map(([, name]) => name ?? ''));
    for (const namespace of namespaces) await ask('create', 'namespace', namespace);
    if (same && namespaces.size === 0) break;
    await ask('wait', '--for=condition=Established', 'customresourcedefinitions', '--all', '--timeout=60s');
  }
  return problem;
}

/** Error lines without warnings and log lines. */
function errorsOf(stderr: string): string {
  return stderr
    .split('\n')
    .filter((line) => line.trim() !== '' && !noise.test(line))
    .sort()
    .join(' | ');
}

function notUnchanged({ stdout }: RunResult): Map<string, string> {
  const lines = stdout.split('\n').map((line) => /^(\S+) (.*)$/.exec(line));
  return new Map(
    lines.flatMap((match) => (match === null || match[2] === 'unchanged' ? [] : [[match[1] ?? '', match[2] ?? '']])),
  );
}

/** Objects of kinds that the server has, since kubectl shows none if one kind is missing. `scratch`: a file to write. */
async function objectsOf(ask: Ask, path: string, scratch: string): Promise<Map<string, unknown>> {
  const get = (...files: string[]) => ask('get', '--ignore-not-found', '--show-managed-fields', '-o', 'json', ...files);
  const all = await get('-R', '-f', path);
  const missing = unknownKinds(all.stderr);
  const objectsOfPresentKinds = async () => {
    const items = (await manifestTexts(path)).flatMap((text) => objectsIn(text, missing));
    await writeFile(scratch, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    return get('-f', scratch);
  };
  const { stdout } = missing.size === 0 ? all : await objectsOfPresentKinds();
  if (stdout === '') return new Map();
  const answer: unknown = JSON.parse(stdout);
  const items = isJsonObject(answer) && Array.isArray(answer['items']) ? answer['items'] : [answer];
  return new Map(items.map((item) => [nameOf(item), item]));
}

function changedBetween(
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): Map<string, string> {
  const versionOf = (object: unknown) =>
    (object as { metadata?: { resourceVersion?: string } } | undefined)?.metadata?.resourceVersion;
  const changed = new Map<string, string>();
  for (const [name, object] of after) {
    if (versionOf(object) !== versionOf(before.get(name))) changed.set(name, 'changed');
  }
  return changed;
}
