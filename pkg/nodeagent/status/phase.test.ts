import t from 'tap';
import type { ContainerStatus, PodSpec } from '#api/core/v1/types.gen.js';
import { statusPatch } from '#nodeagent/status/manager.js';
import { podPhase } from '#nodeagent/status/phase.js';

type Kind = 'running' | 'waiting' | 'backoff' | number;

/** `backoff`: waits after a failed run; a number: ended with that code. */
function status(name: string, kind: Kind): ContainerStatus {
  const base = { name, ready: false, restartCount: 0, image: '', imageID: '' };
  if (kind === 'running') return { ...base, state: { running: {} } };
  if (kind === 'waiting') return { ...base, state: { waiting: { reason: 'ContainerCreating' } } };
  if (kind === 'backoff') return { ...base, state: { waiting: {} }, lastState: { terminated: { exitCode: 1 } } };
  return { ...base, state: { terminated: { exitCode: kind } } };
}

const rows: [restartPolicy: string, init: Kind[], main: Kind[], phase: string][] = [
  ['Always', [], ['waiting'], 'Pending'],
  ['Always', [], ['running', 'waiting'], 'Pending'],
  ['Always', [], ['running', 'running'], 'Running'],
  ['Always', [], ['running', 'backoff'], 'Running'],
  ['Always', [], [0, 1], 'Running'],
  ['Always', ['running'], ['waiting'], 'Pending'],
  ['Always', ['backoff'], ['waiting'], 'Pending'],
  ['Always', [0], ['running'], 'Running'],
  ['Never', [1], ['waiting'], 'Failed'],
  ['Never', [], [0, 0], 'Succeeded'],
  ['Never', [], [0, 1], 'Failed'],
  ['Never', [], [0, 'running'], 'Running'],
  ['OnFailure', [], [0], 'Succeeded'],
  ['OnFailure', [], [1], 'Running'],
  ['OnFailure', [], ['backoff'], 'Running'],
];

for (const [restartPolicy, init, main, phase] of rows) {
  t.test(`${restartPolicy} [${init}] [${main}] is ${phase}`, async (t) => {
    const spec = {
      restartPolicy,
      initContainers: init.map((_, i) => ({ name: `i${i}` })),
      containers: main.map((_, i) => ({ name: `c${i}` })),
    } as PodSpec;
    const initStatuses = init.map((kind, i) => status(`i${i}`, kind));
    t.equal(
      podPhase(
        spec,
        initStatuses,
        main.map((kind, i) => status(`c${i}`, kind)),
      ),
      phase,
    );
  });
}

t.test('patches hold what changed and nothing else', async (t) => {
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2022-01-01T00:00:00Z' };
  const other = { type: 'Initialized', status: 'True', lastTransitionTime: '2022-01-01T00:00:00Z' };
  const old = {
    phase: 'Running',
    conditions: [{ ...ready, status: 'False', reason: 'ContainersNotReady' }, other, { type: 'mine', status: 'True' }],
  };
  t.equal(statusPatch(old, structuredClone({ ...old, conditions: old.conditions.slice(0, 2) })), undefined);
  t.same(statusPatch(old, { ...old, conditions: [ready, other], podIP: '10.0.0.2' }), {
    podIP: '10.0.0.2',
    conditions: [{ ...ready, reason: null }],
  });
});
