/** Scenarios of pods that run on every runtime. */

import { pods, services } from '#api/core/v1/resources.gen.js';
import type { Container, PodSpec } from '#api/core/v1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Scenario } from '#nodeagent/testing/scenarios.js';

/** Real ones ignore SIGTERM; simulated ones wait for SIGKILL. */
const stubborn = {
  script: "trap '' TERM; while :; do sleep 1; done",
  simulation: { 'stop-latency': 'never' },
} as const;
const exec = (script: string) => ({ exec: { command: ['sh', '-c', script] } });
const often = { periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 1 } as const;

/** Pods that the node rejects: spec, reason, message. */
const refusals: readonly (readonly [name: string, Partial<PodSpec>, reason: string, message: RegExp])[] = [
  ['too-much', { containers: [asking('1000')] }, 'OutOfcpu', /^Pod Node didn't have enough resource: cpu, requested: /],
  ['elsewhere', { nodeSelector: { disk: 'gold' } }, 'NodeAffinity', /^Pod Predicate NodeAffinity failed$/],
  ['windows', { os: { name: 'windows' } }, 'PodOSNotSupported', /Failed to admit pod as the OS field doesn't match/],
  [
    'sysctl',
    { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '9' }] } },
    'SysctlForbidden',
    /"kernel.msgmax" not allowlisted$/,
  ],
];

function asking(cpu: string): Container {
  return { name: 'main', image: 'docker.io/test/none:1.0', resources: { requests: { cpu }, limits: { cpu } } };
}

export const podScenarios: readonly Scenario[] = [
  {
    name: 'restart policies decide the phase',
    async run(t, world) {
      const script = { done: 'exit 0', failed: 'exit 3', job: 'exit 0' };
      for (const [name, text] of Object.entries(script)) {
        const restartPolicy = name === 'job' ? 'OnFailure' : 'Never';
        world.run(name, { restartPolicy, containers: [world.shell(text)] });
      }
      const phases = () => Object.keys(script).map((name) => world.status(name)?.phase);
      await world.until(() => phases().join() === 'Succeeded,Failed,Succeeded', 'the phases');
      t.match(world.main('failed')?.state, { terminated: { exitCode: 3, reason: 'Error' } });
      t.match(world.main('job'), { restartCount: 0, state: { terminated: { reason: 'Completed' } } });
      t.match(world.condition('done', 'Ready'), { status: 'False', reason: 'PodCompleted' });
    },
  },
  {
    name: 'init containers run one after the other, and a final failure ends the pod',
    async run(t, world) {
      const init = [world.shell('sleep 0.2', { name: 'one' }), world.shell('exit 0', { name: 'two' })];
      world.run('ordered', { initContainers: init, containers: [world.shell('sleep 1000')] });
      const broken = [world.shell('exit 4', { name: 'one' }), world.shell('exit 0', { name: 'two' })];
      world.run('broken-init', {
        ...{ restartPolicy: 'Never', initContainers: broken, containers: [world.shell('exit 0')] },
      });
      await world.until(
        () => world.isReady('ordered') && world.status('broken-init')?.phase === 'Failed',
        'both are as far as they come',
      );
      const [one, two] = world.status('ordered')?.initContainerStatuses ?? [];
      t.ok((two?.state?.terminated?.startedAt ?? '') >= (one?.state?.terminated?.finishedAt ?? 'none'));
      const [first, second] = world.status('broken-init')?.initContainerStatuses ?? [];
      t.match(first?.state, { terminated: { exitCode: 4 } });
      const waits = { waiting: { reason: 'PodInitializing' } };
      t.strictSame([second?.state, world.status('broken-init')?.containerStatuses?.[0]?.state], [waits, waits]);
      t.match(world.condition('broken-init', 'Initialized'), { status: 'False', reason: 'ContainersNotInitialized' });
    },
  },
  {
    name: 'an ephemeral container starts, ends, and never restarts',
    async run(t, world) {
      world.run('looked-into', { containers: [world.shell('sleep 1000')] });
      await world.until(() => world.isReady('looked-into'), 'it is ready');
      world.api.change(pods, 'default/looked-into', ({ spec }) => {
        spec.ephemeralContainers = [copyJson(world.shell('exit 5', { name: 'debug' }))];
      });
      const debug = () => world.status('looked-into')?.ephemeralContainerStatuses?.[0];
      await world.until(() => debug()?.state?.terminated?.exitCode === 5, 'the ephemeral container has ended');
      t.match(debug(), { name: 'debug', restartCount: 0 });
      t.match(world.status('looked-into'), { phase: 'Running', containerStatuses: [{ restartCount: 0, ready: true }] });
    },
  },
  {
    name: 'failed hooks are reported in events',
    async run(t, world) {
      const sleeping = (lifecycle: Container['lifecycle'], name = 'main') =>
        world.shell('sleep 1000', { name, ...(lifecycle && { lifecycle }) });
      world.run('unhooked', {
        ...{
          terminationGracePeriodSeconds: 1,
          containers: [sleeping({ postStart: exec('exit 3'), preStop: exec('exit 5') })],
        },
      });
      world.run('hooked', { containers: [sleeping({ postStart: exec('true'), preStop: exec('exit 4') })] });
      const failed = () => world.eventMessages('unhooked', 'FailedPostStartHook');
      await world.until(() => failed().length > 0 && world.isReady('hooked'), 'both hooks have run');
      t.match(
        failed()[0],
        /^Exec lifecycle hook \(\[sh -c exit 3\]\) for Container "main" in Pod "unhooked_default\(.*\)" failed - error: command 'sh -c exit 3' exited with 3: , message: ".*"$/,
      );
      // A container whose hook failed is ended like any other.
      await world.until(
        () => world.eventMessages('unhooked', 'FailedPreStopHook').length > 0,
        'the other hook has run as well',
      );
      t.same(world.eventMessages('hooked', 'FailedPostStartHook'), []);
      const uid = world.uid('hooked');
      await world.delete('hooked', 5);
      await world.untilGone('hooked', uid);
      await world.until(() => world.eventMessages('hooked', 'FailedPreStopHook').length > 0, 'the hook has failed');
      t.match(world.eventMessages('hooked', 'FailedPreStopHook')[0], /^Exec lifecycle hook \(\[sh -c exit 4\]\) /);
    },
  },
  {
    name: 'a startup probe delays the other probes, and its failure ends the container',
    async run(t, world) {
      world.run('starting', {
        terminationGracePeriodSeconds: 1,
        containers: [
          world.shell('sleep 1000', {
            startupProbe: { ...exec('exit 1'), ...often },
            livenessProbe: { ...exec('exit 2'), ...often },
            readinessProbe: { ...exec('exit 0'), ...often },
          }),
        ],
      });
      const killed = 'Container main failed startup probe, will be restarted';
      await world.until(() => world.eventMessages('starting', 'Killing').includes(killed), 'it is killed');
      const unhealthy = world.eventMessages('starting', 'Unhealthy');
      t.ok(unhealthy.some((text) => text.startsWith('Startup probe failed: ')));
      t.notOk(unhealthy.some((text) => text.startsWith('Liveness')));
      t.match(world.main('starting'), { started: false, ready: false });
      world.run('started', {
        containers: [
          world.shell('sleep 1000', {
            startupProbe: { ...exec('exit 0'), ...often },
            readinessProbe: { ...exec('exit 0'), ...often },
          }),
        ],
      });
      await world.until(() => world.isReady('started'), 'it is ready');
      t.match(world.main('started'), { started: true });
    },
  },
  {
    name: "a probe's own grace period overrides the pod's",
    async run(t, world) {
      const livenessProbe = { ...exec('exit 1'), ...often, terminationGracePeriodSeconds: 1 };
      world.run(
        'condemned',
        { terminationGracePeriodSeconds: 6000, containers: [world.shell(stubborn.script, { livenessProbe })] },
        stubborn.simulation,
      );
      await world.until(() => (world.main('condemned')?.restartCount ?? 0) > 0, 'it is restarted');
      t.match(world.main('condemned'), { lastState: { terminated: { exitCode: 137 } } });
    },
  },
  {
    name: 'a pod ends at its deadline',
    async run(t, world) {
      world.run('limited', {
        ...{ activeDeadlineSeconds: 1, terminationGracePeriodSeconds: 1, containers: [world.shell('sleep 1000')] },
      });
      await world.until(() => world.main('limited')?.state?.terminated !== undefined, 'it has ended');
      t.match(world.status('limited'), {
        ...{ phase: 'Failed', reason: 'DeadlineExceeded' },
        message: 'Pod was active on the node longer than the specified deadline',
      });
    },
  },
  {
    name: 'a deletion can be shortened or forced',
    async run(t, world) {
      const names = ['hastened', 'forced'] as const;
      // A forced deletion leaves no object with a grace period, so the pod's own counts.
      for (const [name, grace] of [
        ['hastened', 6000],
        ['forced', 1],
      ] as const) {
        const spec = { terminationGracePeriodSeconds: grace, containers: [world.shell(stubborn.script)] };
        world.run(name, spec, stubborn.simulation);
      }
      await world.until(() => names.every((name) => world.isReady(name)), 'both are ready');
      const [hastened = '', forced = ''] = names.map((name) => world.uid(name));
      await world.delete('hastened', 6000);
      await world.until(() => world.eventMessages('hastened', 'Killing').length > 0, 'it is being ended');
      t.ok(world.main('hastened')?.state?.running, 'it still runs');
      await world.delete('hastened', 1);
      await world.delete('forced', 0);
      await world.untilGone('hastened', hastened);
      await world.untilGone('forced', forced);
    },
  },
  {
    name: 'environment variables contain the pod, its resources and its services',
    async run(t, world) {
      const spec = { clusterIP: '192.0.2.11', ports: [{ name: 'db', port: 6379 }] };
      world.api.seed(services, { metadata: { name: 'redis-main', namespace: 'default' }, spec });
      const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
      const resource = (name: string, text: string, divisor: string) => {
        const resourceFieldRef = { resource: text, divisor };
        return { name, valueFrom: { resourceFieldRef } };
      };
      const container = world.shell('env; exit 7', {
        resources: { requests: { cpu: '250m', memory: '16Mi' }, limits: { cpu: '1500m', memory: '64Mi' } },
        env: [
          field('POD', 'metadata.name'),
          field('NODE', 'spec.nodeName'),
          resource('CPUS', 'limits.cpu', '1'),
          resource('MILLIS', 'requests.cpu', '1m'),
          resource('MEGABYTES', 'limits.memory', '1Mi'),
          { name: 'BOTH', value: '$(POD) on $(NODE), $$(POD), $(UNKNOWN)' },
        ],
      });
      const lines = (await world.outputOf('informed', { containers: [container] })).split('\n');
      const expected = ['POD=informed', 'NODE=node-1', 'CPUS=2', 'MILLIS=250', 'MEGABYTES=64'];
      expected.push('BOTH=informed on node-1, $(POD), $(UNKNOWN)');
      expected.push('REDIS_MAIN_SERVICE_HOST=192.0.2.11', 'REDIS_MAIN_SERVICE_PORT_DB=6379');
      expected.push('REDIS_MAIN_PORT=tcp://192.0.2.11:6379', 'REDIS_MAIN_PORT_6379_TCP_PROTO=tcp');
      for (const line of expected) t.ok(lines.includes(line), line);
      const alone = await world.outputOf('uninformed', {
        ...{ enableServiceLinks: false, containers: [world.shell('env; exit 7')] },
      });
      t.notMatch(alone, /REDIS/);
    },
  },
  {
    name: 'a pod gets the hostname of its spec',
    async run(t, world) {
      const containers = [world.shell('hostname; exit 7')];
      const named = { hostname: 'own', subdomain: 'sub', containers };
      t.equal(await world.outputOf('unnamed', { containers }), 'unnamed\n');
      t.equal(await world.outputOf('named', named), 'own\n');
      const full = await world.outputOf('full-name', { ...named, setHostnameAsFQDN: true });
      t.equal(full, 'own.sub.default.svc.cluster.local\n');
    },
  },
  {
    name: 'rejected pods fail with the reason for the rejection',
    async run(t, world) {
      for (const [name, spec] of refusals) world.run(name, { containers: [world.shell('sleep 1000')], ...spec });
      await world.until(() => refusals.every(([name]) => world.status(name)?.phase === 'Failed'), 'all are refused');
      for (const [name, , reason, message] of refusals) t.match(world.status(name), { reason, message }, name);
    },
  },
  {
    name: 'missing images with policy Never and invalid image names are reported',
    async run(t, world) {
      const specOf = (image: string) => ({ containers: [{ name: 'main', image, imagePullPolicy: 'Never' }] });
      world.run('unpulled', specOf('docker.io/test/nowhere:1.0'));
      world.run('misnamed', specOf('Not An Image'));
      const waiting = (name: string) => world.main(name)?.state?.waiting;
      await world.until(
        () => waiting('unpulled')?.reason === 'ErrImageNeverPull' && waiting('misnamed')?.reason === 'InvalidImageName',
        'both wait',
      );
      t.match(
        waiting('unpulled')?.message,
        /^Container image "docker.io\/test\/nowhere:1.0" is not present with pull policy of Never$/,
      );
    },
  },
  {
    name: 'a crashed container waits for its back-off',
    async run(t, world) {
      world.run('crash', { containers: [world.shell('sleep 0.1; exit 3')] });
      const waiting = () => world.main('crash')?.state?.waiting;
      await world.until(() => waiting()?.reason === 'CrashLoopBackOff', 'back-off');
      t.match(world.main('crash'), { restartCount: 1, lastState: { terminated: { exitCode: 3, reason: 'Error' } } });
      t.match(waiting()?.message, /^back-off 10s restarting failed container=main pod=crash_default\(/);
    },
  },
];
