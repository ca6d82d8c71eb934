/** Commands of orchctl whose output depends on this machine: completion, edit, diff, events, debug, pruning. */
import { setMaxListeners } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { commands } from '#cmd/orchctl/commands.js';
import { run } from '#cmd/orchctl/run.js';
import { preparePlace, withPaths } from '#test/integration/client/kubectl/server.js';

t.setTimeout(120_000);
const { signal } = new AbortController();
// Every request in flight listens to it.
setMaxListeners(0, signal);
const place = await preparePlace();
t.teardown(() => place.stop());

async function ctl(line: string, { input = '', editor = 'true' } = {}) {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await run(commands, withPaths(line.split(' '), place), {
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]) as unknown as NodeJS.ReadStream,
    out: { write: (part) => out.push(part.toString()), isTTY: false },
    err: { write: (part) => err.push(part.toString()) },
    env: { KUBECONFIG: place.config, HOME: place.folder, PATH: process.env['PATH'], EDITOR: editor },
    ...{ clock: realClock, signal, onResize: () => () => undefined },
  });
  return { code, out: out.join(''), err: err.join('') };
}

/** A program that edits the file that it is given. */
function editor(name: string, script: string): string {
  const path = join(place.folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

await ctl('create namespace shop');
await ctl('apply --validate=false -f @many.yaml -n shop');

t.test('completes commands, flags, types and names', async (t) => {
  const complete = async (words: string) => (await ctl(`__complete -- ${words}`)).out;
  t.match(await complete('ro'), /^rollout\tShow and manage rollouts/);
  t.equal(await complete('rollout und'), 'undo\tGo back to a former revision\n');
  t.match(await complete('get pods --sel'), /^--selector\tLabel selector/);
  t.match(await complete('get confi'), /^configmaps\tConfigMap\n/);
  t.equal(await complete('get pods -n sh'), 'shop\n');
  t.equal(await complete('-n shop get pods web'), 'web-1\nweb-2\n');
  t.equal(await complete('get -n shop pod/web-2'), 'pod/web-2\n');
  t.equal(await complete('get pods -o js'), 'json\njsonpath=\n');
  t.equal(await complete('logs web-1 -n shop -c m'), 'main\n');
  t.equal(await complete('config use-context '), 'c\n');
  t.equal(await complete('--context='), '--context=c\n');
  t.equal((await ctl('__complete -- get nothing x')).code, 0, 'failures are silent');
  for (const shell of ['bash', 'zsh', 'fish']) t.match((await ctl(`completion ${shell}`)).out, /orchctl __complete --/);
});

t.test('edits objects, and shows faults in the file again', async (t) => {
  const once = await ctl('edit configmap site -n shop', { editor: editor('once', `sed -i 's/a: b/a: c/' "$1"`) });
  t.match(once, { code: 0, out: 'configmap/site edited\n' });
  t.equal((await ctl('get configmap site -n shop -o jsonpath={.data.a}')).out, 'c');
  t.match(await ctl('edit configmap site -n shop'), { code: 0, err: 'Edit cancelled, no changes made.\n' });
  const empty = await ctl('edit configmap site -n shop', { editor: editor('empty', `: > "$1"`) });
  t.match(empty, { code: 0, err: 'Edit cancelled, saved file was empty.\n' });
  const log = join(place.folder, 'seen');
  const corrects = editor(
    'corrects',
    `cat "$1" >> ${log}; if grep -q 'syntax error' "$1"; then sed -i 's/^oops: \\[$//; s/a: c/a: d/' "$1"; else echo 'oops: [' >> "$1"; fi`,
  );
  t.match(await ctl('edit configmap site -n shop', { editor: corrects }), { code: 0, out: 'configmap/site edited\n' });
  t.match(readFileSync(log, 'utf8'), /^# The edited file had a syntax error: .*yaml: line/m);
  const invalid = editor(
    'invalid',
    `if grep -q 'was not valid' "$1"; then :; else sed -i 's/image: .*/image: ""/' "$1"; fi`,
  );
  const refused = await ctl('edit pod web-1 -n shop', { editor: invalid });
  t.equal(refused.code, 1);
  t.match(refused.err, /pods "web-1" was not valid:\n \* spec\.containers\[0\]\.image: Required value/);
  t.match(refused.err, /A copy of your changes has been stored to/);
  t.match(refused.err, /error: Edit cancelled, no valid changes were saved\.\n$/);
});

t.test('shows differences', async (t) => {
  const same = await ctl('diff -f @web.yaml -n shop');
  t.equal(same.code, 1, 'an object that is not there yet');
  t.match(same.out, /^\+kind: Deployment$/m);
  await ctl('apply --validate=false -f @web.yaml -n shop');
  t.match(await ctl('diff -f @web.yaml -n shop'), { code: 0, out: '' });
  const changed = await ctl('diff -f @web-2.yaml -n shop');
  t.equal(changed.code, 1);
  t.match(changed.out, /^-\s+- image: nginx:1$|^-\s+image: nginx:1$/m);
  t.match(changed.out, /^-\s+sidecar: "yes"$/m);
  t.equal(
    (await ctl('get deployment front -n shop -o jsonpath={.metadata.labels.sidecar}')).out,
    'yes',
    'nothing is changed',
  );
  t.equal((await ctl('diff -f @missing.yaml')).code, 2);
  const secret = (value: string) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'shop' },
      stringData: { key: value },
    });
  await ctl('apply --validate=false -f -', { input: secret('old-value') });
  const hidden = await ctl('diff -f -', { input: secret('new-value') });
  t.match(hidden.out, /^-\s+key: '\*\*\* \(before\)'\n\+\s+key: '\*\*\* \(after\)'$/m);
  t.notMatch(hidden.out, /value/);
});

t.test('prunes what is not in the files any more', async (t) => {
  const pod = (name: string) =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: shop, labels: {set: a}}\n`;
  await ctl('apply --validate=false -f -', { input: `${pod('one')}---\n${pod('two')}` });
  const pruned = await ctl('apply --validate=false -f - --prune -l set=a', { input: pod('one') });
  t.match(pruned, { code: 0, out: 'configmap/one unchanged\nconfigmap/two pruned\n' });
  t.match(await ctl('get configmaps -l set=a -n shop -o name'), { out: 'configmap/one\n' });
});

t.test('creates what is needed to look for faults', async (t) => {
  const copied = await ctl('debug web-1 -n shop --copy-to=copy --image=busybox --container=shell -- sleep 1');
  t.match(copied, { code: 0, out: '' });
  const copy = JSON.parse((await ctl('get pod copy -n shop -o json')).out);
  t.match(copy.spec, {
    shareProcessNamespace: true,
    containers: [{ name: 'main' }, { name: 'shell', command: ['sleep', '1'] }],
  });
  t.notOk(copy.metadata.labels, 'no controller and no service counts it');
  const joined = await ctl('debug web-1 -n shop --image=busybox --target=main');
  t.match(joined, {
    code: 0,
    out: /^Defaulting debug container name to debugger-\w{5}\.\n$/,
    err: /^Targeting container "main"\./,
  });
  const target = '{.spec.ephemeralContainers[0].targetContainerName}';
  t.equal((await ctl(`get pod web-1 -n shop -o jsonpath=${target}`)).out, 'main');
  const node = await ctl('debug node/worker-a --image=busybox -n shop');
  t.match(
    node.out,
    /^Creating debugging pod node-debugger-worker-a-\w{5} with container debugger on node worker-a\.\n$/,
  );
  t.match(await ctl('debug web-1 -n shop'), { code: 1, err: /you must specify --image/ });
});

t.test('lists events', async (t) => {
  const event = (name: string, minute: number, type: string, count = 1) =>
    JSON.stringify({
      ...{
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name, namespace: 'shop' },
        type,
        count,
        reason: `Reason${name}`,
      },
      involvedObject: { kind: 'Pod', name: `web-${minute}`, namespace: 'shop' },
      ...{
        message: 'what happened',
        firstTimestamp: '2020-01-01T00:00:00Z',
        lastTimestamp: `2020-01-01T00:0${minute}:00Z`,
      },
    });
  for (const each of [event('b', 2, 'Warning', 3), event('a', 1, 'Normal')])
    await ctl('create --validate=false -f -', { input: each });
  const all = await ctl('events -n shop');
  t.match(all.out, /^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n\S+ +Normal +Reasona +Pod\/web-1 +what happened\n/);
  t.match(all.out, /\(x3 over \S+\) +Warning +Reasonb +Pod\/web-2/);
  t.equal((await ctl('events -n shop --types=warning -o name')).out, 'event/b\n');
  t.match((await ctl('events -n shop --for=pod/web-1 --no-headers')).out, /^\S+ +Normal .*\n$/);
  t.match(await ctl('events -n other'), { code: 0, err: 'No events found in other namespace.\n' });
});

t.test('plain words for mistakes', async (t) => {
  t.match(
    (await ctl('scale deployment web --replicas=many')).err,
    /^error: --replicas takes a whole number, not "many"\n/,
  );
  t.match((await ctl('get pods --namespac=x')).err, /unknown flag: --namespac \(did you mean --namespace\?\)/);
  t.match((await ctl('rollout stat deployment/web')).err, /unknown command "stat", did you mean "status"\?/);
  t.match((await ctl('cp a b')).err, /one of src or dest must be a remote file specification/);
  t.match((await ctl('options')).out, /--kubeconfig|--config/);
});
