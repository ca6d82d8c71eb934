/** kubectl rollout with stateful sets and daemon sets: rolling out, history, and undo. */
import type { Test } from 'tap';
import { eventually } from '#test/e2e/harness.js';

/** Runs kubectl with the arguments and input, and gives its output; fails the test when kubectl fails. */
export type Kubectl = (args: readonly string[], input?: string) => Promise<string>;

function manifest(kind: 'StatefulSet' | 'DaemonSet', name: string, more: object): string {
  const labels = { app: name };
  const containers = [{ name: 'main', image: 'orch/web:1.0' }];
  return JSON.stringify({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, annotations: { note: 'first' } },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers } },
      ...more,
    },
  });
}

const service = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'db' },
  spec: { clusterIP: 'None', selector: { app: 'db' }, ports: [{ port: 8080 }] },
});

export async function rolloutsOfSets(t: Test, kubectl: Kubectl): Promise<void> {
  await kubectl(['apply', '-f', '-'], service);
  await kubectl(['apply', '-f', '-'], manifest('StatefulSet', 'db', { serviceName: 'db', replicas: 2 }));
  await kubectl(['apply', '-f', '-'], manifest('DaemonSet', 'agent', {}));
  const stateful = await rollout(t, kubectl, 'statefulset/db');
  t.match(stateful, /db-0 orch\/web:1.0\ndb-1 orch\/web:1.0\n/, 'pods have names of their own');
  t.match(await rollout(t, kubectl, 'daemonset/agent'), /agent-\S+ orch\/web:1.0\n/);
  t.match(await kubectl(['get', 'statefulset', 'db']), /db +2\/2/);
  t.match(await kubectl(['get', 'daemonset', 'agent']), /agent +2 +2 +2 +2 +2 +<none>/);
  t.match(
    await kubectl(['describe', 'statefulset', 'db']),
    /SuccessfulCreate.*create Pod db-0 in StatefulSet db successful/,
  );
  t.match(await kubectl(['describe', 'daemonset', 'agent']), /SuccessfulCreate.*Created pod: agent-/);
  await kubectl(['scale', 'statefulset/db', '--replicas=1']);
  await eventually('one is left', async () => (await podsOf(kubectl, 'statefulset/db')) === 'db-0 orch/web:1.0\n');
  await kubectl(['delete', '--wait', 'statefulset/db', 'daemonset/agent', 'service/db']);
  await eventually('all pods are gone', async () => (await kubectl(['get', 'pods', '-o', 'name'])).trim() === '');
}

/** Rolls out another image, undoes it, and restarts. Returns the pods from the beginning. */
async function rollout(t: Test, kubectl: Kubectl, set: string): Promise<string> {
  const status = () => kubectl(['rollout', 'status', set, '--timeout=120s']);
  const images = async () => (await podsOf(kubectl, set)).replace(/^\S+ /gm, '');
  await status();
  const first = await podsOf(kubectl, set);
  const before = await images();
  await kubectl(['set', 'image', set, 'main=orch/web:2.0']);
  await status();
  t.equal(await images(), before.replaceAll('1.0', '2.0'), `${set} has the new image`);
  t.match(await kubectl(['rollout', 'history', set]), /^1 +.*\n2 +/m, 'history');
  t.match(await kubectl(['rollout', 'history', set, '--revision=1']), /orch\/web:1.0/, 'history of one revision');
  await kubectl(['rollout', 'undo', set]);
  await status();
  t.equal(await images(), before, `${set} has the old image again`);
  t.match(await kubectl(['rollout', 'history', set]), /^2 +.*\n3 +/m, 'the old revision has a new number');
  await kubectl(['rollout', 'restart', set]);
  await status();
  t.match(await kubectl(['rollout', 'history', set]), /^4 +/m, 'a restart is a revision');
  t.equal(await images(), before);
  return first;
}

/** `name image` of each of the set's pods that is not being deleted. */
async function podsOf(kubectl: Kubectl, set: string): Promise<string> {
  const template =
    '{{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{(index .spec.containers 0).image}}\n{{end}}{{end}}';
  const label = `app=${set.split('/')[1]}`;
  return kubectl(['get', 'pods', '-l', label, '-o', `go-template=${template.replaceAll('\n', '{{"\\n"}}')}`]);
}
