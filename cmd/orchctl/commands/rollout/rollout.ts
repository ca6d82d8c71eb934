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
import { sendPatch } from '#cmd/orchctl/commands/change/patching.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { commandGroup } from '#cmd/orchctl/commands/group.js';
import { readsFiles } from '#cmd/orchctl/commands/manifests.js';
import { filenameOptions, labelSelectorOption, managerOption } from '#cmd/orchctl/commands/options.js';
import { type Info, select } from '#cmd/orchctl/commands/selection.js';
import { resultPrinter } from '#cmd/orchctl/commands/writing.js';
import { describedTemplate } from '#cmd/orchctl/print/description.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { type RolloutState, rolloutStates } from '#cmd/orchctl/rollout/state.js';
import { CommandError, throwAll, UsageError } from '#cmd/orchctl/terminal/errors.js';
import type { OptionTable } from '#daemon/options/option.js';

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

const subcommand = (
  name: string,
  summary: string,
  options: OptionTable,
  run: (invocation: Invocation) => Promise<number>,
): Command => ({
  name,
  usage: '(deployment | statefulset | daemonset)/NAME',
  summary,
  examples: [`orchctl rollout ${name} deployment/web`],
  completes: 'objects',
  options,
  run,
});

const one =
  (run: (invocation: Invocation, chosen: RolloutTarget) => Promise<number>, action: string) =>
  async (invocation: Invocation) =>
    run(invocation, await target(invocation, action));

const many = { ...filenameOptions, ...labelSelectorOption, ...printOptions, ...managerOption('orchctl-rollout') };

export const rollout = commandGroup({
  name: 'rollout',
  summary: 'Show and manage rollouts of deployments, stateful sets and daemon sets',
  examples: [
    'orchctl rollout status deployment/web',
    'orchctl rollout history daemonset/agent --revision 2',
    'orchctl rollout undo statefulset/db --to-revision 2',
  ],
  subcommands: [
    subcommand(
      'history',
      'Show the revisions of a rollout',
      // Revisions have 64 bits, more than options of type int.
      {
        revision: {
          type: 'string',
          default: '0',
          section: 'History',
          meaning: 'Show the pod template of this revision; 0: list all.',
        },
      },
      one(history, 'history'),
    ),
    subcommand('pause', 'Pause a rollout', many, (invocation) => change(invocation, 'pause')),
    subcommand('restart', 'Replace the pods by new ones', many, (invocation) => change(invocation, 'restart')),
    subcommand('resume', 'Resume a paused rollout', many, (invocation) => change(invocation, 'resume')),
    subcommand(
      'status',
      'Wait for a rollout, and show its progress',
      {
        timeout: { type: 'duration', section: 'Waiting', meaning: 'Stop waiting after this long; 0: no limit.' },
        watch: {
          type: 'bool',
          default: true,
          shorthand: 'w',
          section: 'Waiting',
          meaning: 'Wait until the rollout is complete.',
        },
      },
      one(status, 'status'),
    ),
    subcommand(
      'undo',
      'Go back to a former revision',
      {
        'to-revision': {
          type: 'string',
          default: '0',
          section: 'Undo',
          meaning: 'The revision to restore; 0: the previous one.',
        },
      },
      one(undo, 'undo'),
    ),
  ],
});

const viewers: Readonly<Record<string, string>> = {
  history: 'history viewer',
  undo: 'rollbacker',
  status: 'status viewer',
};

async function target({ api, args }: Invocation, action: string): Promise<RolloutTarget> {
  const catalog = await api.catalog();
  if (args.length === 0) throw new CommandError('required resource not specified');
  const [first, more] = parseTargets(catalog, args);
  const [name] = first?.names ?? [];
  if (first === undefined || name === undefined || more !== undefined) {
    throw new CommandError('name one: deployment/NAME, statefulset/NAME or daemonset/NAME');
  }
  const { resource } = first;
  if (resource.group !== 'apps' || !Object.hasOwn(rolloutStates, resource.kind)) {
    const kind = action === 'status' ? resource.kind : JSON.stringify(resource.kind);
    throw new CommandError(`no ${viewers[action] ?? action} has been implemented for ${kind}`);
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

const isPaused = ({ spec }: Partial<Workload>) => spec !== undefined && 'paused' in spec && spec.paused === true;

/** Pauses, resumes or restarts the selected objects. */
async function change(invocation: Invocation, action: 'pause' | 'resume' | 'restart'): Promise<number> {
  const { args, clock, values } = invocation;
  if (args.length === 0 && !readsFiles(values)) {
    throw new CommandError('required resource not specified');
  }
  const { infos, errors } = await select(invocation, { typeIsEnough: true });
  const print = await resultPrinter(invocation, 'none');
  const { annotations } = (await invocation.api.catalog()).dialect;
  const failures = [...errors];
  for (const info of infos) {
    const { resource, name } = info;
    try {
      const fault = faultOf(info, action);
      if (fault !== undefined) {
        const type = resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`;
        throw new CommandError(`${type} ${JSON.stringify(name)} ${fault}`);
      }
      const restartedAt = { [annotations.restartedAt]: formatTime(clock.now()) };
      const body =
        action === 'restart'
          ? { spec: { template: { metadata: { annotations: restartedAt } } } }
          : { spec: { paused: action === 'pause' ? true : null } };
      print(
        await sendPatch(invocation, info, { type: 'strategic', body, dryRun: 'none' }),
        action === 'restart' ? 'restarted' : `${action}d`,
      );
    } catch (error) {
      failures.push(error);
    }
  }
  throwAll(failures);
  return 0;
}

function faultOf({ object, resource }: Info, action: 'pause' | 'resume' | 'restart'): string | undefined {
  const paused = isPaused(object as Workload);
  if (action === 'restart') {
    if (resource.group !== 'apps' || !Object.hasOwn(rolloutStates, resource.kind)) return 'restarting is not supported';
    return paused ? "can't restart paused deployment (run rollout resume first)" : undefined;
  }
  if (resource.kind !== 'Deployment') return `${action === 'pause' ? 'pausing' : 'resuming'} is not supported`;
  if (action === 'pause') return paused ? 'is already paused' : undefined;
  return paused ? undefined : 'is not paused';
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
  if (to === undefined)
    throw new CommandError(`no rollout history found for ${resource.singular} ${JSON.stringify(name)}`);
  if (isPaused(workload))
    throw new CommandError(
      "you cannot rollback a paused deployment; resume it first with 'orchctl rollout resume' and try again",
    );
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
  if (revisions.length === 0) {
    out.write(`${title} \nNo rollout history found.\n`);
    return 0;
  }
  const rows = revisions.reverse().map(({ cause, number: each }) => [String(each), cause ?? '<none>']);
  const width = Math.max('REVISION'.length, ...rows.map(([each = '']) => each.length)) + 2;
  const lines = [['REVISION', 'CHANGE-CAUSE'], ...rows].map(
    ([each = '', cause = '']) => `${each.padEnd(width)}${cause}\n`,
  );
  out.write(`${title} \n${lines.join('')}\n`);
  return 0;
}
