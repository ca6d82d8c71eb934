/**
 * Published bundles of manifests, each applied twice by client-side apply and twice by server-side apply to new servers.
 * If another implementation's API server is configured, ours must refuse the same bundles, change the same objects the
 * second time and, if requested, end with the same objects.
 */
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { messageOf } from '#apimachinery/errors/message.js';
import { type Command, own } from '#test/integration/peers/implementations.js';
import { type Applied, applyBundle, type Mode } from '#test/outsiders/bundles/apply.js';
import { differences } from '#test/outsiders/bundles/objects.js';
import type { Failure, SuiteResult } from '#test/outsiders/report.js';

const modes: readonly Mode[] = ['client-side', 'server-side'];
const maxDifferences = 8;

interface BundleOptions {
  readonly kubectl: string;
  /** Compared if ours refuses or changes something the second time. */
  readonly peer: Command | undefined;
  /** Always compare with the peer, including the objects. */
  readonly objects: boolean;
  /** The peer's result under that name, cached or computed now. */
  readonly recorded: (name: string, apply: () => Promise<Applied>) => Promise<Applied>;
  readonly say: (line: string) => void;
}

/** Each folder and file in `folder` is a bundle; `only`: names of the bundles to try; empty: all. */
export async function runBundles(
  folder: string,
  only: readonly string[],
  options: BundleOptions,
): Promise<SuiteResult> {
  const { peer, say } = options;
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.')).sort();
  const failures: Failure[] = [];
  let passed = 0;
  for (const bundle of names) {
    if (only.length > 0 && !only.includes(bundle)) continue;
    for (const mode of modes) {
      const name = `${bundle} ${mode}`;
      const reasons = await tryBundle(join(folder, bundle), mode, options).catch((error: unknown) => [
        messageOf(error),
      ]);
      say(`${reasons.length === 0 ? 'ok' : 'not ok'} - ${name}`);
      for (const reason of reasons) say(`    ${reason}`);
      if (reasons.length === 0) passed++;
      else failures.push({ name, reason: reasons.join('; ') });
    }
  }
  const note = peer === undefined ? 'not compared with another server: PEER_APISERVER is empty' : undefined;
  return { suite: 'bundles', passed, failures, skipped: 0, ...(note === undefined ? {} : { note }) };
}

/** The failed expectations. */
async function tryBundle(
  path: string,
  mode: Mode,
  { kubectl, peer, objects, recorded }: BundleOptions,
): Promise<string[]> {
  const ours = await applyBundle(own('orch-apiserver'), kubectl, path, mode);
  const faults = shortcomings(ours);
  if (peer === undefined || (faults.length === 0 && !objects)) return faults;
  const theirs = await recorded(`${basename(path)}.${mode}`, () => applyBundle(peer, kubectl, path, mode));
  return disagreements(ours, theirs, objects);
}

function shortcomings({ problem, changedAgain }: Applied): string[] {
  const again = [...changedAgain].map(([name, what]) => `the second time ${name} is ${what}`);
  return problem === undefined ? again : [problem, ...again];
}

function disagreements(ours: Applied, theirs: Applied, objects: boolean): string[] {
  const failures: string[] = [];
  if (ours.problem !== theirs.problem)
    failures.push(`${ours.problem ?? 'no error'}, there ${theirs.problem ?? 'no error'}`);
  for (const [name, what] of ours.changedAgain)
    if (!theirs.changedAgain.has(name)) failures.push(`the second time ${name} is ${what}, there unchanged`);
  if (!objects) return failures;
  for (const name of new Set([...ours.objects.keys(), ...theirs.objects.keys()])) {
    const [one, other] = [ours.objects.get(name), theirs.objects.get(name)];
    if (one === undefined || other === undefined)
      failures.push(`${name} is only ${one === undefined ? 'there' : 'here'}`);
    else for (const each of differences(one, other, maxDifferences)) failures.push(`${name}${each}`);
  }
  return failures;
}
