import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { type Dialect, dialectByName } from '#apimachinery/dialect.js';
import { parseInt64 } from '#apimachinery/int64.js';
import { objectPath } from '#cmd/orchctl/api/api.js';
import { objectName, parseTargets, type ServedResource } from '#cmd/orchctl/api/resources.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { alignColumns } from '#cmd/orchctl/print/columns.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

interface Chosen {
  readonly resource: ServedResource;
  readonly name: string;
  readonly dialect: Dialect;
}

export const rollout: Command = {
  name: 'rollout',
  usage: '(status | restart | undo | history | pause | resume) deployment/NAME',
  summary: 'Follow and steer the rollout of a deployment',
  examples: ['orchctl rollout status deployment/web', 'orchctl rollout undo deployment/web --to-revision 2'],
  options: {
    timeout: { type: 'duration', section: 'Waiting', meaning: 'status: give up after this long; 0 waits for ever.' },
    watch: { type: 'bool', default: true, shorthand: 'w', section: 'Waiting', meaning: 'status: wait for the end.' },
    'to-revision': {
      // Revisions have 64 bits, more than options of type int.
      type: 'string',
      default: '0',
      section: 'Undo',
      meaning: 'undo: the revision to go back to; 0: the one before.',
    },
  },
  async run(invocation) {
    const [action, ...rest] = invocation.args;
    const chosen = await target(invocation, rest);
    switch (action) {
      case 'status':
        return status(invocation, chosen);
      case 'restart':
        return restart(invocation, chosen);
      case 'undo':
        return undo(invocation, chosen);
      case 'history':
        return history(invocation, chosen);
      case 'pause':
      case 'resume':
        await patch(invocation, chosen, { spec: { paused: action === 'pause' } });
        invocation.out.write(`${objectName(chosen.resource, chosen.name)} ${action}d\n`);
        return 0;
      default:
        throw new UsageError(`"${action ?? ''}" is not one of: status, restart, undo, history, pause, resume`);
    }
  },
};

async function target({ api }: Invocation, args: readonly string[]): Promise<Chosen> {
  const catalog = await api.catalog();
  const [first, more] = parseTargets(catalog, args);
  const [name] = first?.names ?? [];
  if (first === undefined || name === undefined || more !== undefined)
    throw new UsageError('name one: deployment/NAME');
  if (first.resource.kind !== 'Deployment') {
    throw new UsageError(`rollouts of ${first.resource.resource} cannot be steered; name a deployment`);
  }
  const speaksOrch = catalog.all.some((resource) => resource.group.endsWith(dialectByName('orch').apiDomain));
  return { resource: first.resource, name, dialect: dialectByName(speaksOrch ? 'orch' : 'kubernetes') };
}

function patch({ api, namespace }: Invocation, { resource, name }: Chosen, body: unknown): Promise<Deployment> {
  return api.json('PATCH', objectPath(resource, name, { namespace }), body, {
    'content-type': 'application/strategic-merge-patch+json',
  });
}

async function restart(invocation: Invocation, chosen: Chosen): Promise<number> {
  const annotations = { [chosen.dialect.annotations.restartedAt]: formatTime(invocation.clock.now()) };
  await patch(invocation, chosen, { spec: { template: { metadata: { annotations } } } });
  invocation.out.write(`${objectName(chosen.resource, chosen.name)} restarted\n`);
  return 0;
}

async function status(invocation: Invocation, { resource, name }: Chosen): Promise<number> {
  const { api, namespace, values, out, signal } = invocation;
  const timeoutMs = values.number('timeout');
  const stop = new AbortController();
  const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined;
  const both = AbortSignal.any([signal, stop.signal, ...(limit === undefined ? [] : [limit])]);
  let shown = '';
  while (!both.aborted) {
    const deployment = await api.get<Deployment>(resource, name, { namespace });
    let state = rolloutState(deployment);
    const tell = () => {
      if (state.message !== shown) out.write(`${state.message}\n`);
      shown = state.message;
    };
    tell();
    if (state.done || !values.bool('watch')) return 0;
    const selection = { fieldSelector: `metadata.name=${name}`, resourceVersion: deployment.metadata.resourceVersion };
    try {
      for await (const { type, object } of api.watch<Deployment>(resource, { namespace }, selection, both)) {
        if (type === 'DELETED') throw new CommandError(`${objectName(resource, name)} was deleted`);
        if (type === 'BOOKMARK') continue;
        state = rolloutState(object);
        tell();
        if (!state.done) continue;
        stop.abort();
        return 0;
      }
    } catch (error) {
      if (!both.aborted) throw error;
    }
  }
  throw new CommandError(`timed out waiting for ${objectName(resource, name)}`);
}

/** Where a rollout stands, in the words of 1.24's clients. Throws when it cannot get on. */
function rolloutState({ metadata, spec, status: now }: Deployment): { done: boolean; message: string } {
  const name = metadata.name ?? '';
  const wanted = spec.replicas ?? 1;
  const updated = now?.updatedReplicas ?? 0;
  const available = now?.availableReplicas ?? 0;
  const total = now?.replicas ?? 0;
  const wait = `Waiting for deployment "${name}" rollout to finish:`;
  if ((metadata.generation ?? 0) > (now?.observedGeneration ?? 0)) {
    return { done: false, message: 'Waiting for deployment spec update to be observed...' };
  }
  const stuck = now?.conditions?.find((c) => c.type === 'Progressing' && c.reason === 'ProgressDeadlineExceeded');
  if (stuck !== undefined) throw new CommandError(`deployment "${name}" exceeded its progress deadline`);
  if (updated < wanted)
    return { done: false, message: `${wait} ${updated} out of ${wanted} new replicas have been updated...` };
  if (total > updated) {
    return { done: false, message: `${wait} ${total - updated} old replicas are pending termination...` };
  }
  if (available < updated) {
    return { done: false, message: `${wait} ${available} of ${updated} updated replicas are available...` };
  }
  return { done: true, message: `deployment "${name}" successfully rolled out` };
}

/** The deployment's replica sets by revision, newest first. */
async function revisions({ api, namespace }: Invocation, { resource, name, dialect }: Chosen) {
  const deployment = await api.get<Deployment>(resource, name, { namespace });
  const sets = await api.list<ReplicaSet>((await api.catalog()).one('replicasets.apps'), { namespace });
  const owned = sets
    .filter((set) => set.metadata.ownerReferences?.some((owner) => owner.uid === deployment.metadata.uid) === true)
    .flatMap((set) => {
      const revision = parseInt64(set.metadata.annotations?.[dialect.annotations.deploymentRevision] ?? '0');
      return revision === undefined ? [] : [{ set, revision }];
    })
    .sort((a, b) => (a.revision < b.revision ? 1 : a.revision > b.revision ? -1 : 0));
  return { deployment, owned };
}

async function undo(invocation: Invocation, chosen: Chosen): Promise<number> {
  const { api, namespace, values, out } = invocation;
  const given = values.string('to-revision') ?? '';
  const wanted = parseInt64(given);
  if (wanted === undefined) {
    throw new UsageError(`--to-revision: "${given}" is not an integer of 64 bits`);
  }
  const { deployment, owned } = await revisions(invocation, chosen);
  const to = wanted > 0n ? owned.find(({ revision }) => revision === wanted) : owned[1];
  if (to === undefined) {
    throw new CommandError(
      wanted > 0n ? `unable to find specified revision ${wanted} in history` : 'no rollout history found',
    );
  }
  if (deployment.spec.paused === true) throw new CommandError('the deployment is paused; resume it first');
  const template = structuredClone(to.set.spec.template);
  if (template?.metadata?.labels !== undefined) delete template.metadata.labels[chosen.dialect.labels.podTemplateHash];
  const operations = [
    { op: 'test', path: '/metadata/resourceVersion', value: deployment.metadata.resourceVersion },
    { op: 'replace', path: '/spec/template', value: template },
  ];
  await api.json('PATCH', objectPath(chosen.resource, chosen.name, { namespace }), operations, {
    'content-type': 'application/json-patch+json',
  });
  out.write(`${objectName(chosen.resource, chosen.name)} rolled back\n`);
  return 0;
}

async function history(invocation: Invocation, chosen: Chosen): Promise<number> {
  const { owned } = await revisions(invocation, chosen);
  const rows = owned
    .reverse()
    .map(({ set, revision }) => [
      String(revision),
      set.metadata.annotations?.[chosen.dialect.annotations.changeCause] ?? '<none>',
    ]);
  invocation.out.write(`${objectName(chosen.resource, chosen.name)}\n`);
  for (const line of alignColumns([['REVISION', 'CHANGE-CAUSE'], ...rows])) invocation.out.write(`${line}\n`);
  return 0;
}
