/** Containers that place links, pipes, endless files and deep trees where the node agent reads and writes as root. */
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { configmaps, pods } from '#api/core/v1/resources.gen.js';
import type { Container, ContainerStatus, PodStatus } from '#api/core/v1/types.gen.js';
import { containerdFixture, skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import { mountsBelow } from '#nodeagent/files/mounts.js';
import { eventually, testPod } from '#nodeagent/testing/agent-fixture.js';

const skip = await skipWithoutContainers();
t.setTimeout(180_000);

t.test('hostile containers', { skip }, async (t) => {
  const fixture = await containerdFixture(t);
  const { dir, api, images, status } = fixture;
  const outside = join(dir, 'outside');
  await mkdir(join(outside, 'sub'), { recursive: true });
  await writeFile(join(outside, 'sub', 'secret'), 'of the host');
  const shell = (name: string, script: string, more: Partial<Container> = {}): Container => ({
    name,
    image: images.busybox,
    command: ['sh', '-c', script],
    ...more,
  });
  const seeded = async (name: string, condition: (status: PodStatus) => boolean) => {
    // The agent checks pod storage every ten seconds, and so does the runtime.
    await eventually(() => condition(status(name) ?? {}), `pod ${name}`, 60_000).catch((error) => {
      throw new Error(fixture.describe(name), { cause: error });
    });
    return status(name) ?? {};
  };
  const ended = (pod: PodStatus) => ['Succeeded', 'Failed'].includes(pod.phase ?? '');
  const message = (container: ContainerStatus | undefined) => container?.state?.terminated?.message ?? '';
  const untouched = async () => {
    t.same(await readdir(outside), ['sub']);
    t.same(await readdir(join(outside, 'sub')), ['secret']);
  };

  await t.test('a link in a volume creates nothing on the host and exposes none of it', async (t) => {
    const at = (subPath: string, mountPath = '/mnt') => ({ volumeMounts: [{ name: 'data', mountPath, subPath }] });
    const listScript = 'ls -A /mnt > /dev/termination-log; exec sleep 1000';
    api.seed(
      pods,
      testPod('links', {
        terminationGracePeriodSeconds: 1,
        initContainers: [
          shell('plant', `cd /data && ln -s ${outside} link && mkdir real && touch real/file && ln -s real good`, {
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          }),
        ],
        containers: [
          shell('created', listScript, at('link/created')),
          shell('read', listScript, at('link/sub')),
          shell('direct', listScript, at('link')),
          shell('expanded', listScript, {
            env: [{ name: 'WHERE', value: 'link' }],
            volumeMounts: [{ name: 'data', mountPath: '/mnt', subPathExpr: '$(WHERE)/created' }],
          }),
          shell('good', listScript, at('good')),
          shell('new', listScript, at('new/part')),
          shell('file', 'cat /mnt; exec sleep 1000', at('real/file')),
        ],
        volumes: [{ name: 'data', emptyDir: {} }],
      }),
    );
    const podStatus = await seeded(
      'links',
      ({ containerStatuses = [] }) =>
        containerStatuses.length > 0 &&
        containerStatuses.every(({ state, name }) =>
          ['good', 'new', 'file'].includes(name)
            ? state?.running !== undefined
            : state?.waiting?.reason === 'CreateContainerConfigError',
        ),
    );
    t.equal(
      podStatus.containerStatuses?.find(({ name }) => name === 'created')?.state?.waiting?.message,
      'failed to prepare subPath for volumeMount "data" of container "created"',
    );
    await untouched();
    const uid = api.get(pods, 'default/links')?.metadata.uid ?? '';
    const podDir = join(dir, 'agent', 'pods', uid);
    t.same(
      (await mountsBelow(join(podDir, 'volume-subpaths'))).sort(),
      ['file', 'good', 'new'].map((name) => join(podDir, 'volume-subpaths', 'data', name, '0')),
    );
    t.equal(await readFile(join(podDir, 'containers', 'good', '0'), 'utf8'), 'file\n');

    await fixture.restartAgent(() => api.remove(pods, 'default/links'));
    await eventually(async () => !(await readdir(join(dir, 'agent', 'pods'))).includes(uid), 'all of it is gone');
    t.same(
      (await mountsBelow(dir)).filter((path) => path.includes(uid)),
      [],
    );
    await untouched();
  });

  await t.test('a link that is swapped continuously exposes nothing to a container', async (t) => {
    const volume = join(dir, 'shared');
    await mkdir(join(volume, 'a', 'sub'), { recursive: true });
    const swap = `cd /data; while :; do mv a b; ln -s ${outside} a; rm a; mv b a; done`;
    const victims = Array.from({ length: 8 }, (_, n) =>
      shell(`victim-${n}`, 'ls /mnt > /dev/termination-log; exec sleep 1000', {
        volumeMounts: [{ name: 'data', mountPath: '/mnt', subPath: 'a/sub' }],
      }),
    );
    const spec = { terminationGracePeriodSeconds: 1, volumes: [{ name: 'data', hostPath: { path: volume } }] };
    const mount = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };
    api.seed(pods, testPod('swapper', { ...spec, containers: [shell('main', swap, mount)] }));
    await seeded('swapper', ({ phase }) => phase === 'Running');
    api.seed(pods, testPod('victims', { ...spec, containers: victims }));
    await seeded(
      'victims',
      ({ containerStatuses = [] }) =>
        containerStatuses.length > 0 &&
        containerStatuses.every(({ state }) => state?.running !== undefined || state?.waiting?.message !== undefined),
    );
    const uid = api.get(pods, 'default/victims')?.metadata.uid ?? '';
    for (const { name } of victims) {
      const path = join(dir, 'agent', 'pods', uid, 'containers', name, '0');
      t.equal(await readFile(path, 'utf8').catch(() => ''), '', name);
    }
    await Promise.all(['victims', 'swapper'].map((name) => fixture.remove(name)));
    await untouched();
  });

  await t.test('a pod over its storage limits is evicted', async (t) => {
    const write = 'dd if=/dev/zero of=$0 bs=1M count=3 2>/dev/null; exec sleep 1000';
    const greedy = (name: string, path: string, more: Partial<Container> = {}) =>
      testPod(name, {
        terminationGracePeriodSeconds: 1000,
        containers: [
          shell('main', write, {
            command: ['sh', '-c', write, path],
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
            ...more,
          }),
        ],
        volumes: [{ name: 'data', emptyDir: name === 'volume' ? { sizeLimit: '1Mi' } : {} }],
      });
    const limits = { resources: { limits: { 'ephemeral-storage': '2Mi' } } };
    api.seed(pods, greedy('volume', '/data/file'));
    api.seed(pods, greedy('layer', '/file', limits));
    api.seed(pods, greedy('modest', '/data/file'));
    for (const [name, message] of [
      ['volume', 'Usage of EmptyDir volume "data" exceeds the limit "1Mi". '],
      ['layer', 'Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. '],
    ] as const) {
      const podStatus = await seeded(name, ({ phase }) => phase === 'Failed');
      t.match(podStatus, { reason: 'Evicted', message }, name);
      const uid = api.get(pods, `default/${name}`)?.metadata.uid ?? '';
      await eventually(
        async () => !(await readdir(join(dir, 'agent', 'pods', uid)).catch(() => [''])).includes('volumes'),
        'its volumes are gone',
      );
    }
    t.equal(status('modest')?.phase, 'Running');
    await Promise.all(['volume', 'layer', 'modest'].map((name) => fixture.remove(name)));
  });

  await t.test('termination messages are truncated, and logs are the fallback', async (t) => {
    const end = 'echo the end >> /dev/termination-log';
    // containerd 1.6 loses what a program writes right before its end (2 of 18 logs of 100 kB lacked their last 2 kB).
    const last = 'echo last output; sleep 1; exit 1';
    api.seed(
      pods,
      testPod('messages', {
        restartPolicy: 'Never',
        containers: [
          shell('sparse', `dd if=/dev/zero of=/dev/termination-log bs=1 count=1 seek=1500000000 2>/dev/null; ${end}`),
          shell('log', `yes a long line of text | head -n 5000; ${last}`, {
            terminationMessagePolicy: 'FallbackToLogsOnError',
          }),
          shell('line', 'head -c 300000 /dev/zero | tr "\\0" x; exit 1', {
            terminationMessagePolicy: 'FallbackToLogsOnError',
          }),
          shell('short', 'echo -n bye > /dev/termination-log'),
        ],
      }),
    );
    const { containerStatuses = [] } = await seeded('messages', ended);
    const text = Object.fromEntries(containerStatuses.map((container) => [container.name, message(container)]));
    // 12 KiB, shared by four containers.
    t.equal(text['sparse']?.length, 3072);
    t.equal(text['log'], `${'a long line of text\n'.repeat(79)}last output\n`);
    t.match(text['line'], /^x+\n?$/);
    t.ok((text['line']?.length ?? 0) <= 2048);
    t.equal(text['short'], 'bye');
    await fixture.restartAgent();
    api.change(pods, 'default/messages', (pod) => {
      pod.metadata.labels = { touched: 'yes' };
    });
    await eventually(() => fixture.agent().agent.port > 0);
    await seeded('messages', ended);
    t.equal(message(status('messages')?.containerStatuses?.[3]), 'bye', 'the message outlives the agent');
    await fixture.remove('messages');
  });

  await t.test('a termination is never reported without its message', async (t) => {
    const messages: (string | undefined)[] = [];
    const stop = api.intercept(({ verb, subresource, body }) => {
      if (verb !== 'patch' || subresource !== 'status') return undefined;
      const { containerStatuses = [] } = (body as { status?: PodStatus }).status ?? {};
      for (const { name, state } of containerStatuses) {
        if (name === 'brief' && state?.terminated !== undefined) messages.push(state.terminated.message);
      }
      return undefined;
    });
    const names = Array.from({ length: 6 }, (_, n) => `brief-${n}`);
    const container = shell('brief', 'echo -n said > /dev/termination-log');
    for (const name of names) api.seed(pods, testPod(name, { restartPolicy: 'Never', containers: [container] }));
    for (const name of names) await seeded(name, ended);
    stop();
    t.ok(messages.length >= names.length);
    t.same([...new Set(messages)], ['said']);
    await Promise.all(names.map((name) => fixture.remove(name)));
  });

  await t.test('configuration files are read-only, and trees of any depth are removed', async () => {
    api.seed(configmaps, { metadata: { name: 'cfg', namespace: 'default' }, data: { key: 'value' } });
    const hostile = [
      `cd /cfg && (rm ..data; ln -s ${outside} ..data; echo x > key; touch new; ls -A | grep -c . )`,
      'cd /data; i=0; while [ $i -lt 600 ]; do mkdir 0123456789 && cd 0123456789; i=$((i+1)); done',
      'mkfifo /data/pipe 2>/dev/null; exec sleep 1000',
    ].join('\n');
    api.seed(
      pods,
      testPod('tree', {
        terminationGracePeriodSeconds: 1,
        containers: [
          shell('main', `exec 2>&1\n${hostile}`, {
            volumeMounts: [
              { name: 'cfg', mountPath: '/cfg' },
              { name: 'data', mountPath: '/data' },
              { name: 'cfg', mountPath: '/one', subPath: 'key' },
            ],
          }),
        ],
        volumes: [
          { name: 'cfg', configMap: { name: 'cfg' } },
          { name: 'data', emptyDir: {} },
        ],
      }),
    );
    await seeded('tree', ({ phase }) => phase === 'Running');
    const uid = api.get(pods, 'default/tree')?.metadata.uid ?? '';
    const podDir = join(dir, 'agent', 'pods', uid);
    const deepest = '/0123456789'.repeat(300);
    await eventually(async () => {
      const output = execFileSync('find', [podDir, '-maxdepth', '320', '-path', `*${deepest}`, '-print', '-quit']);
      return output.length > 0;
    }, 'the tree is deep');
    api.change(configmaps, 'default/cfg', (object) => {
      object.data = { key: 'changed' };
    });
    const file = join(podDir, 'volumes', 'orch.io~configmap', 'cfg', 'key');
    await eventually(async () => (await readFile(file, 'utf8')) === 'changed', 'the file is replaced');
    await untouched();
    await fixture.remove('tree');
    // Terminated pods leave the API at once; their files follow when the agent has seen it.
    await eventually(
      async () => (await readdir(join(dir, 'agent', 'pods'))).length === 0,
      'no folder of a pod is left',
      30_000,
    );
    await untouched();
  });
});
