import t from 'tap';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { Image, ImageAuth, ImageService, PodSandboxConfig, PullOptions } from '#nodeagent/cri/cri.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import { ImagePuller } from '#nodeagent/images/puller.js';

const sandbox = {} as PodSandboxConfig;

function setUp(rate: { qps: number; burst: number }) {
  const clock = new VirtualClock();
  const present = new Set<string>();
  const images = {
    imageStatus: (name: string) => Promise.resolve(present.has(name) ? ({ id: name } as Image) : undefined),
    pullImage: (name: string) => {
      present.add(name);
      return Promise.resolve(name);
    },
  } as unknown as ImageService;
  const events = { container: () => undefined } as unknown as PodEvents;
  const puller = new ImagePuller({ images, clock, events, serialize: false, rate, credentials: async () => [] });
  const pull = (i: number) => {
    const container = { name: 'c', image: `docker.io/test/app:${i}` } as Container;
    const pod = { metadata: { name: `p${i}`, uid: `u${i}` } } as Pod;
    return puller.ensure({ pod, container, sandbox, signal: new AbortController().signal });
  };
  return { clock, pull };
}

t.test('pulls beyond the rate limit fail and are retried after a back-off', async (t) => {
  const { clock, pull } = setUp({ qps: 1, burst: 2 });
  await pull(1);
  await pull(2);
  await t.rejects(pull(3), { reason: 'ErrImagePull', message: 'pull QPS exceeded' });
  await pull(1);
  await t.rejects(pull(3), { message: 'Back-off pulling image "docker.io/test/app:3"' });
  await clock.advance(11_000);
  t.match(await pull(3), { id: 'docker.io/test/app:3' });
});

t.test('zero means no limit', async () => {
  const { pull } = setUp({ qps: 0, burst: 1 });
  for (let i = 0; i < 50; i += 1) await pull(i);
});

/** Pulls end when `ends` is called or when they are aborted. */
function setUpPulls(serialize: boolean) {
  const clock = new VirtualClock();
  const present = new Set<string>();
  const calls: string[] = [];
  const ends = new Map<string, () => void>();
  const images = {
    imageStatus: async (name: string) => (present.has(name) ? ({ id: name } as Image) : undefined),
    pullImage: (name: string, { auth, signal }: PullOptions) =>
      new Promise<string>((resolve, reject) => {
        const call = `${name.split(':')[1]}${auth === undefined ? '' : ` as ${auth.username}`}`;
        calls.push(call);
        signal?.addEventListener('abort', () => {
          if (ends.delete(call)) calls.push(`${call} aborted`);
          reject(new Error('cancelled'));
        });
        ends.set(call, () => {
          ends.delete(call);
          present.add(name);
          resolve(name);
        });
      }),
  } as unknown as ImageService;
  const events = { container: () => undefined } as unknown as PodEvents;
  const credentials = async (pod: Pod): Promise<ImageAuth[]> =>
    pod.metadata.namespace === undefined ? [] : [{ username: pod.metadata.namespace }];
  const puller = new ImagePuller({ images, clock, events, serialize, rate: { qps: 0, burst: 1 }, credentials });
  let pods = 0;
  const pull = (tag: string, namespace?: string) => {
    const container = { name: 'c', image: `docker.io/test/app:${tag}`, imagePullPolicy: 'Always' } as Container;
    const metadata = { name: 'p', uid: `u${pods++}`, ...(namespace === undefined ? {} : { namespace }) };
    const pod: Pod = { metadata, spec: { containers: [container] } };
    const stop = new AbortController();
    const done = puller.ensure({ pod, container, sandbox, signal: stop.signal });
    // Awaited below, if at all.
    done.catch(() => undefined);
    return { done, stop };
  };
  const settle = () => clock.advance(0);
  return { clock, calls, ends, pull, settle };
}

t.test('a pull without waiting pods is aborted, and the next one starts', async (t) => {
  const { calls, ends, pull, settle } = setUpPulls(true);
  const [first, same, second, third] = [pull('1'), pull('1'), pull('2'), pull('3')];
  await settle();
  t.same(calls, ['1']);
  first.stop.abort(new Error('the pod has gone'));
  second.stop.abort(new Error('the pod has gone'));
  await t.rejects(first.done, { message: 'the pod has gone' });
  await t.rejects(second.done, { message: 'the pod has gone' });
  t.same(calls, ['1'], 'one pod still waits for it');
  same.stop.abort(new Error('the pod has gone'));
  await t.rejects(same.done, { message: 'the pod has gone' });
  await settle();
  t.same(calls, ['1', '1 aborted', '3'], 'an abandoned queued pull is skipped');
  ends.get('3')?.();
  t.match(await third.done, { id: 'docker.io/test/app:3' });
  const again = pull('1');
  await settle();
  ends.get('1')?.();
  await again.done;
  t.same(calls.slice(3), ['1'], 'a new pull, not the aborted one');
});

t.test('an unresponsive registry does not block other pulls for ever', async (t) => {
  const { clock, calls, ends, pull, settle } = setUpPulls(true);
  const [silent, other] = [pull('1'), pull('2')];
  await settle();
  await clock.advance(119_999);
  t.same(calls, ['1']);
  await clock.advance(1);
  t.same(calls, ['1', '2']);
  ends.get('2')?.();
  await other.done;
  ends.get('1')?.();
  t.match(await silent.done, { id: 'docker.io/test/app:1' }, 'the slow pull continues');
});

t.test('only pods with the same credentials share a pull', async (t) => {
  const { calls, ends, pull, settle } = setUpPulls(false);
  const pulls = [pull('1', 'a'), pull('1', 'a'), pull('1', 'b'), pull('1')];
  await settle();
  t.same(calls, ['1 as a', '1 as b', '1']);
  for (const end of ends.values()) end();
  for (const { done } of pulls) t.match(await done, { id: 'docker.io/test/app:1' });
});

t.test('reasons and messages of image errors are those of 1.24', async (t) => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  let failure: Error | undefined;
  const images = {
    imageStatus: async () => {
      if (failure !== undefined) throw failure;
      return undefined;
    },
    pullImage: async () => {
      throw new CRIError('NotFound', 'no such image');
    },
  } as unknown as ImageService;
  const events = {
    container: (_pod: Pod, _container: Container, type: string, reason: string, message: string) =>
      lines.push(`${type} ${reason} ${message}`),
  } as unknown as PodEvents;
  const rate = { qps: 0, burst: 1 };
  const puller = new ImagePuller({ images, clock, events, serialize: true, rate, credentials: async () => [] });
  const absent = 'rpc error: code = NotFound desc = no such image';
  const rows: [image: string, policy: string, reason: string, message: string, event?: string][] = [
    ['a:1', 'Never', 'ErrImageNeverPull', 'Container image "a:1" is not present with pull policy of Never'],
    ['a:1', 'Always', 'ErrImagePull', absent, `Warning Failed Failed to pull image "a:1": ${absent}`],
    [
      'a:1',
      'Always',
      'ImagePullBackOff',
      'Back-off pulling image "a:1"',
      'Normal BackOff Back-off pulling image "a:1"',
    ],
    ...(
      [
        ['Upper', 'invalid reference format: repository name must be lowercase'],
        ['example.com/Upper:1', 'invalid reference format: repository name must be lowercase'],
        ['a//b', 'invalid reference format'],
        ['', 'invalid reference format'],
        ['a:', 'invalid reference format'],
        [`a/${'b'.repeat(250)}`, 'repository name must not be more than 255 characters'],
        ['c'.repeat(64), `invalid repository name (${'c'.repeat(64)}), cannot specify 64-byte hexadecimal strings`],
      ] as const
    ).map(([image, problem]): [string, string, string, string, string] => {
      const message = `Failed to apply default image tag "${image}": couldn't parse image reference "${image}": ${problem}`;
      return [image, 'Always', 'InvalidImageName', message, `Warning InspectFailed ${message}`];
    }),
  ];
  const ensure = (image: string, imagePullPolicy: string) =>
    puller.ensure({
      pod: { metadata: { name: 'p', uid: 'u' }, spec: { containers: [] } },
      container: { name: 'c', image, imagePullPolicy },
      sandbox,
      signal: new AbortController().signal,
    });
  for (const [image, policy, reason, message, event = `Warning ${reason} ${message}`] of rows) {
    await t.rejects(ensure(image, policy), { reason, message }, `${image} ${policy}`);
    t.equal(lines.at(-1), event);
  }
  failure = new Error('it hangs');
  const message = 'Failed to inspect image "a:1": it hangs';
  await t.rejects(ensure('a:1', 'IfNotPresent'), { reason: 'ImageInspectError', message });
  t.equal(lines.at(-1), `Warning InspectFailed ${message}`);
});
