import type { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet } from '#api/apps/v1/types.gen.js';
import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { parseInt64 } from '#apimachinery/int64.js';
import type { ApiObject } from '#client/client.js';
import { type Api, objectPath } from '#cmd/orchctl/api/api.js';
import { objectName, parseTargets, type ServedResource } from '#cmd/orchctl/api/resources.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { describedTemplate } from '#cmd/orchctl/print/description.js';
import { alignColumns } from '#cmd/orchctl/print/table.js';
import { type RolloutState, rolloutStates } from '#cmd/orchctl/rollout/state.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

interface Revision {
  /** 64 bits. */
  readonly number: bigint;
  /** The template as the workload had it. */
  readonly template: PodTemplateSpec;
  readonly cause: string | undefined;
}

/** The owner's revisions, newest first: a deployment's in its replica sets, a set's in controller revisions. */
async function revisionsOf(
  api: Api,
  owner: ApiObject,
  { annotations, labels }: Pick<Dialect, 'annotations' | 'labels'>,
): Promise<Revision[]> {
  const isDeployment = owner.kind === 'Deployment';
  const resource = (await api.catalog()).one(isDeployment ? 'replicasets.apps' : 'controllerrevisions.apps');
  const { namespace, uid } = owner.metadata;
  const all = await api.list<ReplicaSet | ControllerRevision>(resource, { namespace });
  return all
    .filter(({ metadata }) => metadata.ownerReferences?.some((each) => each.uid === uid) === true)
    .flatMap((object) => {
      const text =
        'revision' in object
          ? String(object.revision)
          : (object.metadata.annotations?.[annotations.deploymentRevision] ?? '0');
      const number = parseInt64(text);
      const cause = object.metadata.annotations?.[annotations.changeCause];
      return number === undefined ? [] : [{ number, template: templateIn(object, labels.podTemplateHash), cause }];
    })
    .sort((a, b) => (a.number < b.number ? 1 : a.number > b.number ? -1 : 0));
}

/** The template without fields added by the controller. */
function templateIn(object: ReplicaSet | ControllerRevision, hashLabel: string): PodTemplateSpec {
  const data = 'revision' in object ? object.data : object;
  const { spec } = copyJson(data ?? {}) as { spec?: { template?: Draft<PodTemplateSpec> & { $patch?: string } } };
  const { $patch: _patch, ...template } = spec?.template ?? {};
  delete template.metadata?.labels?.[hashLabel];
  return template;
}

/** Kinds that can be rolled out. */
type Workload = Deployment | DaemonSet | StatefulSet;

interface RolloutTarget {
  readonly resource: ServedResource;
  readonly name: string;
  readonly dialect: Dialect;
  /** `deployment.apps/web`. */
  readonly title: string;
  readonly stateOf: (workload: Workload) => RolloutState;
}

export const rollout: Command = {
  name: 'rollout',
  usage: '(status | restart | undo | history | pause | resume) (deployment | statefulset | daemonset)/NAME',
  summary: 'Show and manage rollouts of deployments, stateful sets and daemon sets',
  examples: [
    'orchctl rollout status deployment/web',
    'orchctl rollout history daemonset/agent --revision 2',
    'orchctl rollout undo statefulset/db --to-revision 2',
  ],
  options: {
    timeout: { type: 'duration', section: 'Waiting', meaning: 'status: stop waiting after this long; 0: no limit.' },
    watch: {
      type: 'bool',
      default: true,
      shorthand: 'w',
      section: 'Waiting',
      meaning: 'status: wait until the rollout is complete.',
    },
    // Revisions have 64 bits, more than options of type int.
    revision: {
      type: 'string',
      default: '0',
      section: 'History',
      meaning: 'history: show the pod template of this revision; 0: list all.',
    },
    'to-revision': {
      type: 'string',
      default: '0',
      section: 'Undo',
      meaning: 'undo: the revision to restore; 0: the previous one.',
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
        return pause(invocation, chosen, action);
      default:
        throw new UsageError(`"${action ?? ''}" is not one of: status, restart, undo, history, pause, resume`);
    }
  },
};

async function target({ api }: Invocation, args: readonly string[]): Promise<RolloutTarget> {
  const catalog = await api.catalog();
  const [first, more] = parseTargets(catalog, args);
  const [name] = first?.names ?? [];
  if (first === undefined || name === undefined || more !== undefined) {
    throw new UsageError('name one: deployment/NAME, statefulset/NAME or daemonset/NAME');
  }
  const { resource } = first;
  if (resource.group !== 'apps' || !Object.hasOwn(rolloutStates, resource.kind)) {
    throw new UsageError(`${resource.resource} are not rolled out; name a deployment, a statefulset or a daemonset`);
  }
  return {
    resource,
    name,
    dialect: catalog.dialect,
    title: objectName(resource, name),
    stateOf: rolloutStates[resource.kind as keyof typeof rolloutStates] as RolloutTarget['stateOf'],
  };
}

function read({ api, namespace }: Invocation, { resource, name }: RolloutTarget): Promise<Workload> {
  return api.get<Workload>(resource, name, { namespace });
}

function patch({ api, namespace }: Invocation, { resource, name }: RolloutTarget, body: unknown): Promise<Workload> {
  return api.json('PATCH', objectPath(resource, name, { namespace }), body, {
    'content-type': 'application/strategic-merge-patch+json',
  });
}

const isPaused = ({ spec }: Workload) => 'paused' in spec && spec.paused === true;

async function pause(invocation: Invocation, chosen: RolloutTarget, action: 'pause' | 'resume'): Promise<number> {
  const paused = action === 'pause';
  if (chosen.resource.kind !== 'Deployment') {
    throw new CommandError(`${chosen.title}: ${paused ? 'pausing' : 'resuming'} is not supported`);
  }
  if (isPaused(await read(invocation, chosen)) === paused) {
    throw new CommandError(`${chosen.title} is ${paused ? 'already' : 'not'} paused`);
  }
  await patch(invocation, chosen, { spec: { paused } });
  invocation.out.write(`${chosen.title} ${action}d\n`);
  return 0;
}

async function restart(invocation: Invocation, chosen: RolloutTarget): Promise<number> {
  if (isPaused(await read(invocation, chosen))) {
    throw new CommandError(`can't restart paused deployment (run rollout resume first): ${chosen.title}`);
  }
  const annotations = { [chosen.dialect.annotations.restartedAt]: formatTime(invocation.clock.now()) };
  await patch(invocation, chosen, { spec: { template: { metadata: { annotations } } } });
  invocation.out.write(`${chosen.title} restarted\n`);
  return 0;
}

async function status(invocation: Invocation, chosen: RolloutTarget): Promise<number> {
  const { resource, name, title, stateOf } = chosen;
  const { api, namespace, values, out, signal } = invocation;
  const timeoutMs = values.number('timeout');
  const stop = new AbortController();
  const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined;
  const both = AbortSignal.any([signal, stop.signal, ...(limit === undefined ? [] : [limit])]);
  let shown = '';
  while (!both.aborted) {
    const workload = await read(invocation, chosen);
    let state = stateOf(workload);
    const report = () => {
      if (state.message !== shown) out.write(`${state.message}\n`);
      shown = state.message;
    };
    report();
    if (state.done || !values.bool('watch')) return 0;
    const selection = { fieldSelector: `metadata.name=${name}`, resourceVersion: workload.metadata.resourceVersion };
    try {
      for await (const { type, object } of api.watch<Workload>(resource, { namespace }, selection, both)) {
        if (type === 'DELETED') throw new CommandError(`${title} was deleted`);
        if (type === 'BOOKMARK') continue;
        state = stateOf(object);
        report();
        if (!state.done) continue;
        stop.abort();
        return 0;
      }
    } catch (error) {
      if (!both.aborted) throw error;
    }
  }
  throw new CommandError(`timed out waiting for ${title}`);
}

/** The option's revision; 0: unspecified. */
function revisionOption({ values }: Invocation, option: string): bigint {
  const text = values.string(option) ?? '';
  const number = parseInt64(text);
  if (number === undefined || number < 0n) {
    throw new UsageError(`--${option}: "${text}" is not a positive integer of 64 bits`);
  }
  return number;
}

function revisionNumbered(revisions: readonly Revision[], number: bigint): Revision {
  const revision = revisions.find((each) => each.number === number);
  if (revision === undefined) throw new CommandError(`unable to find specified revision ${number} in history`);
  return revision;
}

async function undo(invocation: Invocation, chosen: RolloutTarget): Promise<number> {
  const { api, namespace, out } = invocation;
  const { resource, name, title, dialect } = chosen;
  const number = revisionOption(invocation, 'to-revision');
  const workload = await read(invocation, chosen);
  const revisions = await revisionsOf(api, workload, dialect);
  const to = number > 0n ? revisionNumbered(revisions, number) : revisions[1];
  if (to === undefined) throw new CommandError(`no rollout history found for ${title}`);
  if (isPaused(workload)) throw new CommandError(`you cannot rollback a paused deployment; resume it first: ${title}`);
  if (semanticEqual(to.template, workload.spec.template)) {
    out.write(`${title} skipped rollback (current template already matches revision ${to.number})\n`);
    return 0;
  }
  const operations = [{ op: 'replace', path: '/spec/template', value: to.template }];
  await api.json('PATCH', objectPath(resource, name, { namespace }), operations, {
    'content-type': 'application/json-patch+json',
  });
  out.write(`${title} rolled back\n`);
  return 0;
}

async function history(invocation: Invocation, chosen: RolloutTarget): Promise<number> {
  const { api, out } = invocation;
  const { title, dialect } = chosen;
  const number = revisionOption(invocation, 'revision');
  const revisions = await revisionsOf(api, await read(invocation, chosen), dialect);
  if (number > 0n) {
    out.write(`${title} with revision #${number}\n${describedTemplate(revisionNumbered(revisions, number).template)}`);
    return 0;
  }
  const rows = revisions.reverse().map(({ cause, number: each }) => [String(each), cause ?? '<none>']);
  out.write(`${title}\n`);
  for (const line of alignColumns([['REVISION', 'CHANGE-CAUSE'], ...rows])) out.write(`${line}\n`);
  return 0;
}
