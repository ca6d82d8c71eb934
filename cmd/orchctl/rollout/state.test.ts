import t from 'tap';
import type { DaemonSet, StatefulSet } from '#api/apps/v1/types.gen.js';
import { rolloutStates } from '#cmd/orchctl/rollout/state.js';

const metadata = { name: 'x', generation: 2 };
const template = {};
const selector = {};

t.test('reports rollouts of daemon sets', (t) => {
  const message = (status: object | undefined, type = 'RollingUpdate') => {
    const spec = { selector, template, updateStrategy: { type } };
    const set = { metadata, spec, ...(status === undefined ? {} : { status }) };
    const { done, message } = rolloutStates.DaemonSet(set as unknown as DaemonSet);
    return `${done} ${message}`;
  };
  const status = { observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3 };
  const wait = 'false Waiting for daemon set';
  t.equal(message(undefined), `${wait} spec update to be observed...`);
  t.equal(message({ ...status, observedGeneration: 1 }), `${wait} spec update to be observed...`);
  t.equal(
    message({ ...status, updatedNumberScheduled: 1 }),
    `${wait} "x" rollout to finish: 1 out of 3 new pods have been updated...`,
  );
  t.equal(
    message({ ...status, numberAvailable: 2 }),
    `${wait} "x" rollout to finish: 2 of 3 updated pods are available...`,
  );
  t.equal(message(status), 'true daemon set "x" successfully rolled out');
  t.throws(() => message(status, 'OnDelete'), { message: /only available for RollingUpdate strategy type/ });
  t.end();
});

t.test('reports rollouts of stateful sets', (t) => {
  const message = (status: object | undefined, partition = 0, type = 'RollingUpdate') => {
    const updateStrategy = { type, rollingUpdate: { partition } };
    const spec = { selector, template, serviceName: 'x', replicas: 3, updateStrategy };
    const set = { metadata, spec, ...(status === undefined ? {} : { status }) };
    const { done, message } = rolloutStates.StatefulSet(set as unknown as StatefulSet);
    return `${done} ${message}`;
  };
  const status = {
    ...{ observedGeneration: 2, readyReplicas: 3, currentReplicas: 3, updatedReplicas: 3 },
    ...{ currentRevision: 'x-1', updateRevision: 'x-1' },
  };
  const updating = { ...status, updatedReplicas: 1, updateRevision: 'x-2' };
  t.equal(message(undefined), 'false Waiting for statefulset spec update to be observed...');
  t.equal(message({ ...status, observedGeneration: 1 }), 'false Waiting for statefulset spec update to be observed...');
  t.equal(message({ ...status, readyReplicas: 1 }), 'false Waiting for 2 pods to be ready...');
  t.equal(
    message(updating, 1),
    'false Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...',
  );
  t.equal(message(updating, 2), 'true partitioned roll out complete: 1 new pods have been updated...');
  t.equal(message(updating), 'false waiting for statefulset rolling update to complete 1 pods at revision x-2...');
  t.equal(message(status), 'true statefulset rolling update complete 3 pods at revision x-1...');
  t.throws(() => message(status, 0, 'OnDelete'), { message: /only available for RollingUpdate strategy type/ });
  t.end();
});
