import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { type ExistingPods, existingPodsWarnings } from '#apiserver/admission/podsecurity/existing-pods.js';
import { latestVersion } from '#apiserver/admission/podsecurity/standards/level.js';
import { changedPod, type PodChange } from '#apiserver/admission/podsecurity/testing/pods.js';

const named = (name: string, change: PodChange = {}, controller?: string): Pod => {
  const { spec } = changedPod(change);
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: controller ?? '', controller: true };
  return { metadata: { name, ...(controller !== undefined && { ownerReferences: [owner] }) }, spec };
};

/** The clock moves by `stepMs` whenever it is read. */
function warningsOf(pods: readonly Pod[], { stepMs = 0, ...more }: Partial<ExistingPods> & { stepMs?: number } = {}) {
  let nowMs = 0;
  let reads = 0;
  const monotonic = () => {
    nowMs += stepMs;
    return nowMs;
  };
  const result = existingPodsWarnings({
    namespace: 'ns',
    level: { level: 'baseline', version: latestVersion },
    pods: pods.map((pod) => () => {
      reads++;
      return pod;
    }),
    exemptRuntimeClasses: new Set(['safe']),
    dialect,
    clock: { monotonic },
    dueMs: 1000,
    pause: () => undefined,
    isCancelled: () => false,
    ...more,
  });
  return result.then((warnings) => ({ warnings, reads: () => reads }));
}

const host = { spec: { hostPID: true } };
const violate = 'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"';

t.test('existing pods are summed up by their violations', async (t) => {
  const all = async (pods: readonly Pod[]) => (await warningsOf(pods)).warnings;
  t.same(await all([]), [], 'no pods');
  t.same(await all([named('a'), named('b')]), [], 'pods that keep the rules');
  t.same(await all([named('a', host)]), [violate, 'a: host namespaces'], 'one');
  t.same(
    await all([named('b', host), named('a', host)]),
    [violate, 'a (and 1 other pod): host namespaces'],
    'two, named by the first name',
  );
  t.same(
    await all([
      named('z', { ...host, container: { privileged: true } }),
      named('d', host),
      named('c', host),
      named('b', { container: { privileged: true } }),
      named('e', host),
      named('exempt', { spec: { hostIPC: true, runtimeClassName: 'safe' } }),
    ]),
    [violate, 'b: privileged', 'c (and 2 other pods): host namespaces', 'z: host namespaces, privileged'],
    'several violations, in order',
  );
});

t.test('the number of pods and the time are bounded', async (t) => {
  const many = Array.from({ length: 3001 }, (_, i) => named(`replica-${i}`, {}, 'r'));
  const only = (checked: number, total: number) =>
    `new PodSecurity enforce level only checked against the first ${checked} of ${total} existing pods`;
  t.same(
    (await warningsOf([...many, named('single', host), named('other', host, 's')])).warnings,
    [only(3000, 3003), violate, 'other (and 1 other pod): host namespaces'],
    'single pods and one of each controller come before replicas',
  );
  t.same((await warningsOf(many.slice(0, 3000))).warnings, [], 'the maximum is checked completely');
  const { warnings, reads } = await warningsOf([named('a', host), named('b', host), named('c', host)], { stepMs: 240 });
  t.same(warnings, [only(2, 3), violate, 'a (and 1 other pod): host namespaces'], 'no time left after two pods');
  t.equal(reads(), 3, 'all were read');
  const late = await warningsOf([named('a', host), named('b', host)], { stepMs: 1000 });
  t.same(late.warnings, [only(1, 2), violate, 'a: host namespaces'], 'at least one pod is checked');
  t.equal(late.reads(), 1, 'pods are not read after the time is over');
  const gone = await warningsOf([named('a'), named('b')], { isCancelled: () => true });
  t.same(gone.warnings, [only(1, 2)], 'the client is gone');
});

t.test('other work runs in between', async (t) => {
  let pauses = 0;
  const pause = () => {
    pauses++;
    return Promise.resolve();
  };
  await warningsOf([named('a'), named('b')], { pause });
  t.equal(pauses, 4, 'a pause for reading and for checking each pod');
});
